#!/bin/sh
# Creates the secrets of compose.yaml in deploy/secrets. Existing secrets are not replaced. The nodes run as user 10001
# and the proxy as user 99, and Docker keeps the modes of the files. So the files are readable by everyone, but the
# folder is not.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 0700 secrets
for name in database-password admin-password platform-key; do
  [ -s "secrets/$name" ] || openssl rand -base64 48 | tr -d '\n/+=' >"secrets/$name"
  chmod 0444 "secrets/$name"
done
if [ ! -s secrets/proxy-certificate.pem ]; then
  echo "Next: write the certificate, its chain and its key, in this order, to deploy/secrets/proxy-certificate.pem (mode 0444)." >&2
fi
