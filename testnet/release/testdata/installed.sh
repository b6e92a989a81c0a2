# Installs a package on a copy of this machine's files that only this script sees, and runs the agent as its unit does, on a network of
# its own: installed.sh PACKAGE SOCKET, in namespaces of mounts and of the network. The agent tells the socket how far it is.
set -eu
package=$1 socket=$2
mount --make-rprivate /
ip link set lo up
mount -t tmpfs none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay none -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
mount --rbind /proc /mnt/root/proc
mount --rbind /dev /mnt/root/dev
mkdir /mnt/root/package
mount --bind "$(dirname "$package")" /mnt/root/package
there() { chroot /mnt/root "$@"; }

echo "== install"
there dpkg -i "/package/$(basename "$package")"
there id -un skerry
there systemd-analyze verify /usr/lib/systemd/system/skerry.service 2>&1 | grep -F skerry || true
there systemd-analyze security --offline=true --threshold=20 --no-pager skerry.service | tail -1
there man -w skerry-sites-certify
there bash -c '. /usr/share/bash-completion/completions/skerry; complete -p skerry'
there skerry catalog check /usr/share/doc/skerry/examples/catalog.yaml

echo "== run"
cp /mnt/root/usr/share/doc/skerry/examples/*.yaml /mnt/root/etc/skerry
there chown -R skerry:skerry /etc/skerry
mkdir -m 700 /mnt/root/var/lib/skerry
there chown skerry:skerry /var/lib/skerry
command=$(sed -n 's/^ExecStart=//p' /mnt/root/usr/lib/systemd/system/skerry.service)
chmod 711 "$(dirname "$package")"
chroot /mnt/root setpriv --reuid skerry --regid skerry --init-groups env NOTIFY_SOCKET="/package/$(basename "$socket")" $command &
agent=$!
trap 'kill "$agent"' EXIT
until there skerry sites; do
	kill -0 "$agent"
	sleep 0.2
done
kill "$agent"
trap - EXIT
wait "$agent"

echo "== remove"
there dpkg -P skerry
there find /usr /etc -name '*skerry*' -not -path '/etc/skerry*'
