#!/bin/sh
# Stands in for uv, uvx, pip, apt-get, apt, apk, curl and wget while a test script runs. There is no network; what
# would be installed was looked up before, and is here. Anything else goes to the real program, if there is one.
name=${0##*/}
here=${0%/*}

real() {
  PATH=$(printf %s "$PATH" | tr : '\n' | grep -vxF "$here" | paste -sd: -)
  export PATH
  exec "$name" "$@"
}

run() {
  while [ $# -gt 0 ]; do
    case $1 in
      -w | --with | --with-requirements | --with-editable | --from | -p | --python | --project | --directory | --env-file | \
        --index | --index-url | --default-index | --extra-index-url) shift 2 ;;
      --) shift; break ;;
      -*) shift ;;
      *) break ;;
    esac
  done
  case ${1-} in *@*) program=${1%%@*}; shift; set -- "$program" "$@" ;; esac
  exec "$@"
}

case $name in
  uvx) run "$@" ;;
  uv)
    while [ "${1#-}" != "${1-}" ]; do shift; done
    case ${1-} in
      run) shift; run "$@" ;;
      tool) [ "${2-}" = run ] && { shift 2; run "$@"; } ;;
    esac
    ;;
  pip | pip3) case ${1-} in install | uninstall) ;; *) real "$@" ;; esac ;;
  curl | wget) case "$*" in *astral.sh/uv*) echo : ;; *) real "$@" ;; esac ;;
esac
exit 0
