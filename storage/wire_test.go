package storage

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// drawInto fills every field of a struct, so that none that the engine adds is forgotten here.
func drawInto(t *rapid.T, v reflect.Value, name string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		if rapid.Bool().Draw(t, name+" is set") {
			v.Set(reflect.ValueOf(time.Unix(0, rapid.Int64Range(1, 1<<62).Draw(t, name)).UTC()))
		}
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, name))
	case v.Type() == reflect.TypeFor[engine.State]():
		v.SetString(string(rapid.SampledFrom([]engine.State{"", engine.StateApplied, engine.StateLeaving, "a", "of a newer release"}).Draw(t, name)))
	default:
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				drawInto(t, v.Field(i), v.Type().Field(i).Name)
			}
		case reflect.String:
			v.SetString(rapid.String().Draw(t, name))
		case reflect.Int, reflect.Int64:
			v.SetInt(rapid.Int64().Draw(t, name))
		case reflect.Uint64:
			v.SetUint(rapid.Uint64().Draw(t, name))
		case reflect.Bool:
			v.SetBool(rapid.Bool().Draw(t, name))
		case reflect.Pointer:
			if rapid.Bool().Draw(t, name+" is set") {
				v.Set(reflect.New(v.Type().Elem()))
				drawInto(t, v.Elem(), name)
			}
		case reflect.Slice:
			for range rapid.IntRange(0, 2).Draw(t, name+" length") {
				e := reflect.New(v.Type().Elem()).Elem()
				drawInto(t, e, name)
				v.Set(reflect.Append(v, e))
			}
		case reflect.Map:
			for range rapid.IntRange(0, 2).Draw(t, name+" length") {
				if v.IsNil() {
					v.Set(reflect.MakeMap(v.Type()))
				}
				key, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				drawInto(t, key, name)
				drawInto(t, e, name)
				v.SetMapIndex(key, e)
			}
		default:
			t.Fatalf("%s is a %s", name, v.Type())
		}
	}
}

func drawBySite[V any](t *rapid.T) ([]engine.SiteID, map[engine.SiteID]V) {
	list := rapid.SliceOfNDistinct(rapid.SampledFrom(sites), 1, 3, rapid.ID).Draw(t, "sites")
	by := map[engine.SiteID]V{}
	for _, s := range list {
		var v V
		drawInto(t, reflect.ValueOf(&v).Elem(), string(s))
		by[s] = v
	}
	return sorted(list), by
}

func TestStatusesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, replicas := drawBySite[engine.ReplicaStatus](t)
		if got, err := decodeBySite(list, encodeBySite(&rowRoom{}, list, replicas, (*fields).replica), (*parser).replica); err != nil || !reflect.DeepEqual(got, replicas) {
			t.Fatalf("\n got %+v, %v\nwant %+v", got, err, replicas)
		}
		list, statuses := drawBySite[engine.OperationStatus](t)
		if got, err := decodeBySite(list, encodeBySite(&rowRoom{}, list, statuses, (*fields).status), (*parser).status); err != nil || !reflect.DeepEqual(got, statuses) {
			t.Fatalf("\n got %+v, %v\nwant %+v", got, err, statuses)
		}
	})
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var run []engine.Event
		drawInto(t, reflect.ValueOf(&run).Elem(), "events")
		for i := range run {
			run[i].Seq = 0 // it follows from the place
		}
		if got, err := decodeEvents(appendEvents(nil, run)); err != nil || len(got) != len(run) || len(run) > 0 && !reflect.DeepEqual(got, run) {
			t.Fatalf("\n got %+v, %v\nwant %+v", got, err, run)
		}
	})
}

func TestStateLettersAreOfOneState(t *testing.T) {
	if len(letterStates) != len(stateLetters) {
		t.Errorf("%d letters for %d states", len(letterStates), len(stateLetters))
	}
	for state, letter := range stateLetters {
		if len(letter) != 1 {
			t.Errorf("%q stands for %s: columns count on one byte", letter, state)
		}
	}
}

// FuzzStored: whatever lies on the disk, reading it ends, with a bounded amount of memory, and what can be read is written in
// the same way again.
func FuzzStored(f *testing.F) {
	list := []engine.SiteID{"a", "b"}
	f.Add(encodeBySite(&rowRoom{}, list, map[engine.SiteID]engine.ReplicaStatus{"a": {State: engine.StateConflict, Reason: "r", Paused: &engine.Pause{By: "p"}}}, (*fields).replica))
	f.Add(encodeBySite(&rowRoom{}, list, map[engine.SiteID]engine.OperationStatus{"b": {State: "other", Tries: []engine.Attempt{{Status: 500}}}}, (*fields).status))
	f.Add(appendEvents(nil, []engine.Event{{Type: "t", Subject: "s", Time: time.Unix(1, 0), Data: []byte("1")}}))
	f.Add(encodeApart(map[engine.SiteID]engine.Fingerprint{"a": {1, 2, 3, 4}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		again := func(what string, encoded []byte, encode func([]byte) ([]byte, error)) {
			if twice, err := encode(encoded); err != nil || !bytes.Equal(twice, encoded) {
				t.Errorf("%s: %q is read and written as %q, %v", what, encoded, twice, err)
			}
		}
		for what, encode := range map[string]func([]byte) ([]byte, error){
			"replicas": func(b []byte) ([]byte, error) {
				by, err := decodeBySite(list, b, (*parser).replica)
				return encodeBySite(&rowRoom{}, list, by, (*fields).replica), err
			},
			"statuses": func(b []byte) ([]byte, error) {
				by, err := decodeBySite(list, b, (*parser).status)
				return encodeBySite(&rowRoom{}, list, by, (*fields).status), err
			},
			"events": func(b []byte) ([]byte, error) {
				run, err := decodeEvents(b)
				return appendEvents(nil, run), err
			},
			"digests": func(b []byte) ([]byte, error) {
				by, err := decodeApart(b)
				return encodeApart(by), err
			},
		} {
			if encoded, err := encode(b); err == nil {
				again(what, encoded, encode)
			}
		}
	})
}
