"""PDFs, made by hand: such as a program writes, and such as only somebody hostile does."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO

from pypdf import PdfReader, PdfWriter

# A font whose codes are the characters themselves, so that any text of 16-bit units can be written.
FONT = b"<< /Type /Font /Subtype /Type0 /BaseFont /F /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>"
DESCENDANT = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /F /CIDSystemInfo << /Registry (A) /Ordering (I) >> >>"
RANGES = b"\n".join(b"<%02X00> <%02XFF> <%02X00>" % (high, high, high) for high in range(256))
CMAP = (
    b"begincmap\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n256 beginbfrange\n%s\nendbfrange\nendcmap"
    % RANGES
)


def stream(content: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), more, content)


def pdf(objects: Sequence[bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A file of these objects, the first one being the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    places: list[int] = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, start)
    return bytes(out)


def shown(text: str) -> bytes:
    """The drawing of a text, each line below the other."""
    lines = text.encode("utf-16-be", "surrogatepass").split(b"\0\n")
    drawn = b" ".join(b"<%s> Tj 0 -14 Td" % line.hex().encode() for line in lines)
    return b"BT /F 12 Tf 20 800 Td %s ET" % drawn


def pages(drawings: Sequence[bytes], more: bytes = b"") -> bytes:
    """A file with one page for each drawing."""
    kids = b" ".join(b"%d 0 R" % (6 + 2 * number) for number in range(len(drawings)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(drawings), kids),
        FONT,
        DESCENDANT,
        stream(CMAP),
    ]
    for number, drawing in enumerate(drawings):
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 840] /Contents %d 0 R" % (7 + 2 * number)
        objects += [page + b" /Resources << /Font << /F 3 0 R >> %s >> >>" % more, stream(drawing)]
    return pdf(objects)


def texts(*said: str) -> bytes:
    return pages([shown(text) for text in said])


def encrypted(content: bytes, password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(content)))
    writer.encrypt(password, algorithm="RC4-128")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def bomb(size: int, times: int = 1) -> bytes:
    """A drawing that unfolds to so many bytes, packed so many times."""
    content = b" " * size
    for _ in range(times):
        content = zlib.compress(content, 9)
    filters = b" ".join([b"/FlateDecode"] * times)
    base = texts("x")
    end = base.index(b"7 0 obj")
    objects = base[:end].split(b"endobj\n")[:-1]
    made = [part.split(b" obj\n", 1)[1].rstrip(b"\n") for part in objects]
    return pdf([*made, stream(content, b"/Filter [%s]" % filters)])


def hostile() -> dict[str, bytes]:
    """Files that go on for ever, or unfold to more than a machine has."""
    catalogue = b"<< /Type /Catalog /Pages 2 0 R >>"
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
    )
    one = b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>"
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>"
    plain = texts("x")
    return {
        "pages that hold themselves": pdf([catalogue, b"<< /Type /Pages /Count 9 /Kids [2 0 R 2 0 R] >>"]),
        "pages that are said to be many": pdf([catalogue, b"<< /Type /Pages /Count 999999999 /Kids [] >>"]),
        "a catalogue that is itself": pdf([b"1 0 R"]),
        "a form in itself": pdf([catalogue, one, page, stream(b"/X Do /X Do /X Do"), stream(b"/X Do /X Do", form)]),
        "content in itself": pdf([catalogue, one, page, b"[4 0 R 4 0 R]"]),
        "a length in itself": pdf([catalogue, one, page, b"<< /Length 4 0 R >>\nstream\nx\nendstream"]),
        "a bomb": bomb(2_000_000_000 // 4),
        "a bomb in a bomb": bomb(200_000_000, 2),
        "deep brackets": pdf([catalogue, one, page, stream(b"[" * 1_000_000)]),
        "deep objects": pdf([b"[" * 100_000]),
        "a long drawing": pages([b"BT /F 1 Tf " + b"<0041> Tj 1 0 Td " * 300_000 + b" ET"]),
        "no end of pages": pages([b"BT /F 1 Tf <0041> Tj ET"] * 6000),
        "a table that begins in itself": plain.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % plain.index(b"xref")),
        "a table that is nowhere": plain[: plain.index(b"startxref")] + b"startxref\n999999999\n%%EOF",
        "only a beginning": b"%PDF-1.7\n" + b"1 0 obj\n" * 200_000,
        "cut off": plain[:400],
        "not one at all": b"%PDF-" + bytes(range(256)) * 100,
    }
