#!/bin/sh
set -e
# On an upgrade the agent goes on until the new one takes its place.
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now skerry.service
fi
