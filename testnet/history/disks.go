package history

import (
	"maps"

	"github.com/skerry/skerry/engine"
)

// keyed reports whether the elements of the array "disks" have keys.
func keyed(k *engine.Kind) bool { return len(k.Keys) > 0 }

// anyDisks changes some of the disks that a client was shown, adds one or leaves one out. Now and then two have one name, so
// that the array is one value.
func (w *play) anyDisks(q *request, shown any) []any {
	list, _ := shown.([]any)
	var disks []any
	for _, d := range list {
		disk, ok := d.(map[string]any)
		switch {
		case !ok || w.chance(4):
		case w.chance(2):
			disk = maps.Clone(disk)
			disk[string(rune('x'+w.rng.IntN(2)))] = q.n
			fallthrough
		default:
			disks = append(disks, disk)
		}
	}
	if len(disks) < 2 || w.chance(4) {
		disks = append(disks, w.anyDisk(q))
	}
	if w.chance(12) {
		disks = append(disks, disks[0])
	}
	return disks
}

func (w *play) anyDisk(q *request) map[string]any {
	disk := map[string]any{"name": string(rune('p' + w.rng.IntN(4)))}
	if w.chance(2) {
		disk["size"] = q.n
	}
	return disk
}

// byKey returns fields with the elements of a keyed array as members, so that their order does not count.
func byKey(k *engine.Kind, fields map[string]any) map[string]any {
	disks, ok := fields["disks"].([]any)
	if !keyed(k) || !ok {
		return fields
	}
	members := map[string]any{}
	for _, d := range disks {
		disk, _ := d.(map[string]any)
		name, _ := disk["name"].(string)
		if _, twice := members[name]; name == "" || twice {
			return fields
		}
		members[name] = disk
	}
	fields = maps.Clone(fields)
	fields["disks"] = members
	return fields
}
