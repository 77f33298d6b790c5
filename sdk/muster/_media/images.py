"""Encoding of images as PNG or as their original file: PIL images, numpy arrays (H×W, H×W×C), torch tensors (H×W, C×H×W), figures, paths and bytes."""

import io
import struct
from pathlib import Path
from typing import Any

from muster._media.content import Content, bounded
from muster.errors import Rejected
from muster.wire import CHANNELS, PIXEL_BYTES, PIXELS, PNG, Json, png_of

MAX_PIXELS = 64 * 1024 * 1024
_HINT = "log a smaller image, or pass the bytes of a JPEG"
_SIGNATURES = (
    (PNG, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def image_of(image: object, caption: str = "", *, as_pixels: bool = False) -> Content:
    """Return an image as a file. Floats range from 0 to 1 and are clipped, booleans are black and white, integers range from 0 to 255.

    Args:
        as_pixels: Return a small array as raw pixels, for the worker to encode.

    Raises:
        Rejected: The image has another type, or is too large.
    """
    text = (
        caption[:1000].encode("utf-8", "replace").decode()
    )  # may contain invalid UTF-8, for example from a file name
    about: dict[str, Json] = {"caption": text} if text else {}
    if isinstance(image, str | Path):
        content = _of_file(_read(Path(image)), about)
    elif isinstance(image, bytes | bytearray | memoryview):
        content = _of_file(bytes(image), about)
    elif hasattr(image, "savefig"):  # a figure of matplotlib
        content = _of_file(_saved(image.savefig), about)
    elif hasattr(image, "save") and hasattr(image, "mode"):  # PIL's
        content = _of_file(_saved(image.save), about)
    else:
        content = _of_array(image, about, as_pixels=as_pixels)
    return bounded(content, "the image", _HINT)


def _of_file(body: bytes, about: dict[str, Json]) -> Content:
    for signature, content_type in _SIGNATURES:
        if body.startswith(signature) and (signature != b"RIFF" or body[8:12] == b"WEBP"):
            if content_type == "image/png" and len(body) >= 24:
                about["width"], about["height"] = struct.unpack(">II", body[16:24])
            return Content(content_type, body, about)
    raise Rejected(
        "image_invalid",
        "the bytes are not a PNG, JPEG, GIF or WebP file",
        place="image",
        hint="pass raw pixels as an array of shape (height, width, channels)",
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Rejected(
            "image_unreadable",
            f"{path} cannot be read: {error.strerror or error}",
            place="image",
            hint="a string is read as a path; log text with log_text",
        ) from error


def _saved(save: Any) -> bytes:
    written = io.BytesIO()
    save(written, format="png")
    return written.getvalue()


def _of_array(image: Any, about: dict[str, Json], *, as_pixels: bool) -> Content:
    if hasattr(image, "detach"):
        image = _rows_first(image.detach().cpu())
    try:
        height, width, channels = _shape(image.shape)
        pixels = _pixels(image)
    except (AttributeError, TypeError):
        raise Rejected(
            "image_invalid",
            f"an image must be a PIL image, an array, a tensor, a figure, or the path or bytes of a file, not {type(image).__name__}",
            place="image",
        ) from None
    about["width"], about["height"] = width, height
    if as_pixels and len(pixels) <= PIXEL_BYTES:
        return Content(PIXELS, pixels, {**about, "channels": channels})
    return Content("image/png", png_of(pixels, width, height, channels), about)


def _rows_first(tensor: Any) -> Any:
    """Convert a tensor to an H×W×C array; torch has channels first."""
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    if tensor.dim() == 3 and tensor.shape[0] in CHANNELS:
        tensor = tensor.permute(1, 2, 0)
    return tensor.numpy()


def _shape(shape: Any) -> tuple[int, int, int]:
    sizes = tuple(int(size) for size in shape)
    if len(sizes) == 2:
        sizes = (*sizes, 1)
    if len(sizes) != 3 or sizes[2] not in CHANNELS or not 0 < sizes[0] * sizes[1] <= MAX_PIXELS:
        raise Rejected(
            "image_shape",
            f"an image cannot have shape {tuple(shape)}: it must be (height, width) or (height, width, channels) with "
            "1 to 4 channels, or (channels, height, width) for torch",
            place="image",
            hint="log the images of a batch one by one, or as a grid (torchvision.utils.make_grid)",
        )
    return sizes[0], sizes[1], sizes[2]


def _pixels(array: Any) -> bytes:
    import numpy as np

    if array.dtype.kind == "f":
        array = (
            np.nan_to_num(array.astype(np.float32), nan=0.0, posinf=1.0, neginf=0.0).clip(0, 1) * 255 + 0.5
        )
    elif array.dtype.kind == "b":
        array = array * 255
    elif array.dtype.kind in "iu":
        array = array.clip(0, 255)
    else:
        raise TypeError(array.dtype)
    return bytes(np.ascontiguousarray(array.astype(np.uint8)).tobytes())
