#!/bin/sh
# Creates the secrets for compose.yaml in deploy/secrets. Existing secrets are not replaced. The nodes run as user 10001
# and the proxy as user 99, and Docker keeps the files' modes. So the files are readable by everyone (0444). The folder's
# mode (0700) protects them.
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
