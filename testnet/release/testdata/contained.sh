# Runs what an image starts, on the image's files alone, read-only but for what a container gives it: contained.sh ROOT USER COMMAND…, in namespaces
# of mounts and of the network.
set -eu
root=$1 user=$2
shift 2
mount --make-rprivate /
ip link set lo up
cp packaging/examples/*.yaml "$root/etc/skerry"
mkdir "$root/proc"
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --rbind /proc "$root/proc"
mount -t tmpfs none "$root/tmp"
mount -t tmpfs -o "mode=700,uid=${user%:*},gid=${user#*:}" none "$root/var/lib/skerry"
there() { env -i "$(command -v chroot)" --userspec="$user" "$root" "$@"; }

# exec, so that it is the agent itself that is told to end.
(exec env -i HOME=/var/lib/skerry "$(command -v chroot)" --userspec="$user" "$root" "$@") &
agent=$!
trap 'kill "$agent"' EXIT
until there /usr/bin/skerry sites; do
	kill -0 "$agent"
	sleep 0.2
done
kill "$agent"
trap - EXIT
wait "$agent"
