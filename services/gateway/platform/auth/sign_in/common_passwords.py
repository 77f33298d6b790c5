"""The words that common passwords are made of, and the runs of keys that people type. From general knowledge of published lists."""

COMMON_PASSWORDS = frozenset(
    """
    aaron abcd abcdef abcdefg abcdefgh abcabc access account action adam adidas admin administrator adobe adrian airplane alabama alaska albert alex
    alexander alexandra alexis alice alicia allison alpha amanda amazon amber america american amsterdam anderson andrea andrew android angel angela
    angels animal anna anthony apollo apple april archer argentina ariana arsenal arthur asdf ashley asshole aston athena atlanta august austin australia
    autumn awesome azerty babies baby babygirl backup badboy bailey banana bandit barbara barbie barcelona barney baseball basket basketball batman
    beach beatles beautiful beauty bella benjamin berlin bigdaddy bigdog billy birthday bitch bitcoin black blackie blahblah blessed blink
    blonde blondie blossom blue bluebird bond boomer booboo boston brandon brandy brasil brazil bronco broncos brooklyn brother brown bubba bubbles
    buddy buffalo bulldog buster butter buttercup butterfly buttons california calvin camaro cameron camille canada candy captain carlos carmen
    caroline carolina cassie casper cat catherine celtic champion changeit changeme chance change charles charlie charlotte cheese chelsea cherry
    chester chevy chicago chicken chicks china chloe chocolate chris christ christian christina christine christmas christopher cisco claire classic
    claudia cloud coffee college colorado compaq compass computer connect connor control cookie cool cooper corvette courtney cowboy cowboys cream
    creative cricket crystal cuddles daddy daisy dakota dallas daniel danielle danny darkness database david debbie december deep deeplearning
    default delta demo denise dennis denver derrick desktop destiny dexter diablo diamond diana diesel digital disney doctor dog doggie dolphin
    dolphins domino donald donkey dragon dragonball dragons dream dreams drowssap ducati duke eagle eagles eclipse edward einstein elephant elizabeth
    emily eminem emma emmanuel enter erica eric england enterprise everton example explorer facebook family fantasy february felix fender ferrari
    fireman firebird fish fisher fishing florida flower flowers fluffy flyers football ford forever forest francis frank franklin fred freddy
    freedom french friday friend friends frog fuckme fuckoff fuckyou fuck gabriel gandalf garden garfield gateway gemini general genesis george georgia
    german germany gibson ginger giants girl girls giovanni gizmo goddess god godzilla golden golf golfer google gordon grace grandma green greenday
    gregory guest guitar gunner hacker hallo hammer hannah happy hardcore harley harrison harry hawaii heather heaven heineken hello helloworld
    helpme hendrix henry hockey holiday hollywood homer honda honey hooters hotdog house houston hunter hunting iceman iloveu iloveyou
    iloveme incorrect indian inferno infinity internet inter ireland ironman isabella isabelle jackass jackie jackson jacob jaguar jake
    james jamie january japan jasmine jason jasper jennifer jeremy jerry jessica jessie jesus jesuschrist johanna john johnny johnson jonathan jordan
    joseph joshua juice julia julian july june junior justice justin katherine kathleen katie kawasaki kelly kermit kevin killer king kingdom kitten
    kitty knight kristina ladies lakers lasvegas laura lauren leather legend leonardo letmein letmeinnow liberty lifeline lincoln linda lindsay linux
    little liverpool lizard login logitech london lonely looking lorenzo louise love lovely loveme lover loverboy lovers loveyou lucky lucas lucy
    machine machinelearning madison maggie magic mailman manchester manager maria mariana marina marine mario marlboro marley marshall martin
    marvin mary master masterkey matrix matthew maverick maxwell melissa member mercedes mercury merlin metallica mexico michael michelle michigan
    mickey microsoft midnight miller minecraft miranda mister mistress money monday monica monkey monster montana morgan morning
    mother motorola mountain mustang music muster mylove mynoob mypassword myspace naruto nascar natalie natasha nathan naughty newcastle newpass
    newpassword newyork nicholas nicole nikita nintendo nirvana nissan nopass nopassword nothing november nvidia october oliver olivia
    online operator oracle orange orlando packers pakistan pamela pandora panther panthers paradise paris passport pass passme passphrase passw
    password passwd passwort patricia patrick peaches peanut peewee penguin pepper personal phantom philips phoenix photoshop picture piglet
    pikachu pirate platinum player playboy please pokemon poland poohbear pookie popcorn porsche portugal postgres postgresql power precious
    presario prince princess private public pumpkin puppy purple python pytorch qazwsx qwerty qwert qwertz rabbit rachel racing raiders rainbow
    ranger rangers raymond rebecca redhead redsox redwings redis remember richard robert rocket rocky ronaldo root rosebud
    runner russia russian sabrina sailor sakura samantha sammy samson samsung samuel sandra saturday saturn school scooby scooter scorpion
    scotland scott secret secure security september server service sexy shadow shannon shelby sierra silver simple simpsons skippy slayer slipknot
    smokey snickers snoopy snowball soccer sophia sophie spanky sparky spider spiderman spirit spitfire sponge spongebob spring staging stanley star
    startrek starwars steelers stella stephanie stephen steve steven stupid success sucker suckit summer sunday sunflower sunshine super superman
    superstar superuser support surfer sweet sweetheart sweetie sweety swimming sydney sysadmin system tamara taurus taylor teacher temp temporary
    tennis tensorflow teresa test tester testing testpass testtest texas thomas thunder thursday thx tiffany tiger tigers tigger time tinker
    titanic toor tottenham toyota training transformer travis trinity tristan trouble trustno trustnoone tuesday turtle tweety twitter ubuntu unicorn united
    universe unknown user username valentina valentine vanessa venus veronica victor victoria viking vincent violet virginia volleyball voyager
    wednesday welcome welcomehome whatever whiskey white wildcats william williams willow wilson windows winner winston winter wizard wolf
    wolverine wolves wonder woofwoof wordpass work worker world xavier xbox yahoo yamaha yankee yankees yellow yellowstone york zachary zaq zxcv zxcvbn
    zxcvbnm
    """.split()
)
KEY_RUNS = (
    *("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop", "abcdefghijklmnopqrstuvwxyz"),
    *("1234567890", "0123456789", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "qazwsxedcrfvtgbyhnujmikolp", "1qaz2wsx3edc4rfv5tgb6yhn7ujm"),
)  # fmt: skip
"""Rows, columns and diagonals of keyboards, and the alphabet. Typed in either direction."""
