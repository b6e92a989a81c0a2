#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ] && [ -d /var/lib/skerry ]; then
	echo "skerry: the site's data and its key stay in /var/lib/skerry; delete that folder when the site has left its mesh for good"
fi
