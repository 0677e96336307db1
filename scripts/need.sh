#!/bin/sh
# need.sh NAME...: installs absent tools with apt. Names: postgresql redis chromium headless-shell fonts poppler python faketime openssl.
# Services of the installed packages are not started.
set -eu

[ $# -gt 0 ] || { echo "usage: need.sh postgresql|redis|chromium|headless-shell|fonts|poppler|python|faketime|openssl ..." >&2; exit 64; }

present() {
    case $1 in
        postgresql) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null ;;
        redis) command -v redis-server >/dev/null ;;
        chromium) command -v chromium >/dev/null ;;
        headless-shell) command -v chromium-headless-shell >/dev/null ;;
        fonts) ls /usr/share/fonts/opentype/noto/NotoSansCJK* >/dev/null 2>&1 ;;
        poppler) command -v pdftotext >/dev/null ;;
        python) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        faketime) ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 ;;
        openssl) command -v openssl >/dev/null ;;
        *) echo "need.sh: unknown name $1; expected postgresql, redis, chromium, headless-shell, fonts, poppler, python, faketime or openssl" >&2; exit 64 ;;
    esac
}

package() {
    case $1 in
        postgresql) echo postgresql ;;
        redis) echo redis-server ;;
        chromium) echo chromium ;;
        headless-shell) echo chromium-headless-shell ;;
        fonts) echo fonts-noto-cjk ;;
        poppler) echo poppler-utils ;;
        python) echo python3-venv ;;
        faketime) echo libfaketime ;;
        openssl) echo openssl ;;
    esac
}

absent=
for name in "$@"; do
    present "$name" || absent="$absent $(package "$name")"
done
[ -n "$absent" ] || exit 0

command -v apt-get >/dev/null || { echo "need.sh: please install:$absent" >&2; exit 69; }
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "need.sh: please install, as root:$absent" >&2; exit 69; }
    as_root=sudo
fi

# Exit code 101 of policy-rc.d tells the packages not to start their services.
guard=/usr/sbin/policy-rc.d
if [ ! -e "$guard" ]; then
    trap '$as_root rm -f "$guard"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$guard" >/dev/null
    $as_root chmod 755 "$guard"
fi
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of package names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $absent >/dev/null
