package kubernetes

import (
	"bytes"
	"encoding/binary"
)

// Of Kubernetes' protobuf only the options of a delete are read here, and the name and the resourceVersion of an object: for everything else the API
// server is asked (Dialect.Rehearsal).
const (
	magic                = "k8s\x00"
	unknownRaw           = 2 // runtime.Unknown.raw
	optionsGrace         = 1 // DeleteOptions.gracePeriodSeconds
	optionsPreconditions = 2 // DeleteOptions.preconditions
	optionsOrphan        = 3 // DeleteOptions.orphanDependents
	optionsPolicy        = 4 // DeleteOptions.propagationPolicy
	optionsDryRun        = 5 // DeleteOptions.dryRun
	objectMeta           = 1 // metadata of every object
	metaName             = 1 // ObjectMeta.name
	metaVersion          = 6 // ObjectMeta.resourceVersion
)

// deletesDry reports whether options of a delete ask for a dry run.
func deletesDry(body []byte) bool {
	options, ok := optionsOf(body)
	if !ok {
		return false
	}
	_, dry := field(options, optionsDryRun)
	return dry
}

// deletesAtOnce reports whether options of a delete leave no time.
func deletesAtOnce(body []byte) bool {
	options, ok := optionsOf(body)
	if !ok {
		return false
	}
	seconds, ok := number(options, optionsGrace)
	return ok && seconds == 0
}

// optionsOf returns the message with the options of a delete.
func optionsOf(body []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(body, []byte(magic))
	if !ok {
		return nil, false
	}
	return field(rest, unknownRaw)
}

// fields calls visit with each field of a message: its number, where it begins, the value of one that is a number, and where the bytes of one
// that holds bytes begin; until that returns false, or
// what follows is no message.
func fields(message []byte, visit func(tag uint64, from int, value uint64, bytes, end int) bool) {
	for at := 0; at < len(message); {
		from := at
		tag, n := binary.Uvarint(message[at:])
		if n <= 0 {
			return
		}
		at += n
		value, inner := uint64(0), at
		switch tag & 7 {
		case 0:
			if value, n = binary.Uvarint(message[at:]); n <= 0 {
				return
			}
			at += n
		case 1:
			at += 8
		case 5:
			at += 4
		case 2:
			length, n := binary.Uvarint(message[at:])
			if n <= 0 || length > uint64(len(message)-at-n) {
				return
			}
			inner = at + n
			at = inner + int(length)
		default:
			return
		}
		if at > len(message) {
			return
		}
		if !visit(tag, from, value, inner, at) {
			return
		}
	}
}

// field returns the first field of a message that has this number and holds bytes.
func field(message []byte, number uint64) (found []byte, ok bool) {
	fields(message, func(tag uint64, _ int, _ uint64, inner, end int) bool {
		if ok = tag == number<<3|2; ok {
			found = message[inner:end]
		}
		return !ok
	})
	return found, ok
}

// number returns the first field of a message that has this number and is one.
func number(message []byte, field uint64) (found int64, ok bool) {
	fields(message, func(tag uint64, _ int, value uint64, _, _ int) bool {
		if ok = tag == field<<3; ok {
			found = int64(value)
		}
		return !ok
	})
	return found, ok
}

// nested returns a field of the message in a field, and so on.
func nested(message []byte, path ...uint64) ([]byte, bool) {
	for _, number := range path {
		inner, ok := field(message, number)
		if !ok {
			return nil, false
		}
		message = inner
	}
	return message, true
}

// withNested returns a message with another value in such a field, which it has.
func withNested(message, value []byte, path ...uint64) (out []byte, ok bool) {
	fields(message, func(tag uint64, from int, _ uint64, inner, end int) bool {
		if tag != path[0]<<3|2 {
			return true
		}
		set := value
		if ok = len(path) == 1; !ok {
			set, ok = withNested(message[inner:end], value, path[1:]...)
		}
		if ok {
			out = append(out, message[:from]...)
			out = binary.AppendUvarint(out, tag)
			out = binary.AppendUvarint(out, uint64(len(set)))
			out = append(append(out, set...), message[end:]...)
		}
		return false
	})
	return out, ok
}
