#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers skerry.conf
fi
if getent group skerry >/dev/null; then
	chgrp skerry /etc/skerry
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-reload-or-restart skerry.service
fi
if [ ! -e /etc/skerry/agent.yaml ]; then
	echo "skerry: write /etc/skerry/agent.yaml (examples: /usr/share/doc/skerry/examples), then: systemctl enable --now skerry"
fi
