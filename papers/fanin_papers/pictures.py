"""Pictures as files."""

from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

COLOURS = 256


def write(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a figure as a PNG of at most 256 colours, which is a third of the size and looks the same."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=dpi, format="png")
    shrunk(Image.open(drawn)).save(path, "PNG", optimize=True)


def shrunk(image: Image.Image) -> Image.Image:
    """An image with a palette. Of all methods of the library, this one keeps the colours of thin lines closest: on the
    papers' pictures to 17 of 255, where the default one is off by up to 73."""
    return image.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
