#!/usr/bin/env bash
# Runs inside LocalStack when it is ready: stores the provider's key, the demo's
# own and no secret, where the gateway's role reads keys.
set -euo pipefail
awslocal ssm put-parameter --overwrite --type SecureString --name /holdfast/provider --value sk-holdfast-demo >/dev/null
echo "provider's key is stored"
