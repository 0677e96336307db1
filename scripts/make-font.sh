#!/bin/sh
# make-font.sh: builds the invoice fonts (crates/adapters/assets/fonts) from Debian's package fonts-noto-cjk.
# Requires python3 with venv and the package fonts-noto-cjk. Writes only the two font files.
set -eu
cd "$(dirname "$0")/.."
source=${1:-/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc}
target=crates/adapters/assets/fonts
[ -r "$source" ] || { echo "expected the font collection at $source (Debian: apt-get install fonts-noto-cjk)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" -q install 'fonttools==4.68.0'

# All of GB 2312 (names need its second level), Latin with its extensions, punctuation, currency signs, full-width forms.
python3 - > "$scratch/characters" <<'PYTHON'
characters = set()
for row in range(0xA1, 0xF8):
    for cell in range(0xA1, 0xFF):
        try:
            characters.add(ord(bytes([row, cell]).decode("gb2312")))
        except UnicodeDecodeError:
            pass
for first, end in [(0x20, 0x7F), (0xA0, 0x250), (0x2010, 0x2028), (0x2030, 0x2040), (0x20A0, 0x20C0), (0xFF00, 0xFF61)]:
    characters.update(range(first, end))
print(",".join(f"{character:04X}" for character in sorted(characters)))
PYTHON

# Hints and vertical metrics take half of the file, and a PDF uses neither.
subset() {
  "$scratch/venv/bin/pyftsubset" "$source" --no-hinting --layout-features= --name-IDs=0,1,2,3,4,6,13,14 \
    --drop-tables+=vhea,vmtx,VORG,BASE,GSUB,GPOS,GDEF "$@"
}
# In the collection, face 2 is Noto Sans CJK SC and face 7 is Noto Sans Mono CJK SC.
subset --font-number=2 --unicodes-file="$scratch/characters" --output-file="$target/invoice.otf"
subset --font-number=7 --unicodes=20-7E --output-file="$target/invoice-mono.otf"
ls -l "$target"
