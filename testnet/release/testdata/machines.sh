# Makes two machines of this one's files, paris and nantes, that only this script and what joins its namespaces see, on a network of their own with an
# application: machines.sh PACKAGE, in namespaces of mounts, processes and the network. It says that they are up, and stays. Both have one /root, with the
# package in dist, which stands for carrying files. For want of systemd a command systemctl does what the unit says.
set -eu
mount --make-rprivate /
ip link set lo up
mount -t tmpfs none /mnt
mkdir -p /mnt/home/dist
cp "$1" /mnt/home/dist/skerry_amd64.deb
for name in paris nantes; do
	root=/mnt/$name
	mkdir /mnt/$name.upper /mnt/$name.work $root
	mount -t overlay none -o lowerdir=/,upperdir=/mnt/$name.upper,workdir=/mnt/$name.work $root
	mount --rbind /proc $root/proc
	mount --rbind /dev $root/dev
	mount --bind /mnt/home $root/root
	cat > $root/usr/local/bin/systemctl <<'END'
#!/bin/bash
set -eu
unit=/usr/lib/systemd/system/skerry.service
says() { sed -n "s/^$1=//p" "$unit"; }
case "$*" in
"enable --now skerry")
	install -d -m "$(says StateDirectoryMode)" -o "$(says User)" -g "$(says Group)" "/var/lib/$(says StateDirectory)"
	setsid setpriv --reuid "$(says User)" --regid "$(says Group)" --init-groups $(says ExecStart) > /var/log/skerry.log 2>&1 &
	echo $! > /run/skerry.pid
	until curl -sf http://127.0.0.1:8700/readyz > /dev/null; do
		kill -0 "$(cat /run/skerry.pid)" || { cat /var/log/skerry.log; exit 1; }
		sleep 0.1
	done ;;
"status skerry") kill -0 "$(cat /run/skerry.pid)" && echo "active (running)" ;;
*) exit 2 ;;
esac
END
	chmod +x $root/usr/local/bin/systemctl
done
echo up
exec sleep infinity
