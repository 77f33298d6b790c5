"""Reports one point and ends: the way from the request to the first report is all there is."""

import muster

trial = muster.trial()
trial.report(1, loss=1.0)
