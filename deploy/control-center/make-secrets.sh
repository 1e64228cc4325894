#!/bin/sh
# Makes the secrets of compose.yaml in deploy/control-center/secrets, each once: what is there already stays.
# The control center runs as user 10001 and the proxy as user 99, and Docker mounts the files as they are: these are readable
# for everybody, and the folder is not.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 0700 secrets
for name in database-password platform-key; do
  [ -s "secrets/$name" ] || openssl rand -base64 48 | tr -d '\n/+=' >"secrets/$name"
  chmod 0444 "secrets/$name"
done
if [ ! -s secrets/proxy-certificate.pem ]; then
  echo "Put certificate, chain and key, one after the other, into deploy/control-center/secrets/proxy-certificate.pem (mode 0444)." >&2
fi
