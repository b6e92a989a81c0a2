package agent

import (
	"encoding"
	"fmt"
	"reflect"
	"time"

	"github.com/skerry/skerry/web/shape"
)

// show gives a configuration the form that administrators see: the fields of Config by their names in the program, with all defaults
// filled in. The invitation, the one secret that a configuration may have in itself, is hidden; of all others it has the files.
func (c Config) show() any {
	if c.Mesh.Join != "" {
		c.Mesh.Join = shape.Hidden
	}
	return showValue(reflect.ValueOf(c))
}

// showValue makes of a value what JSON shows as people write it: 1m0s for a duration, names for levels.
func showValue(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String()
	case encoding.TextMarshaler:
		return x
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return showValue(v.Elem())
	case reflect.Struct:
		shown := map[string]any{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			if f.IsExported() {
				shown[f.Name] = showValue(v.FieldByIndex(f.Index))
			}
		}
		return shown
	case reflect.Map:
		shown := map[string]any{}
		for _, k := range v.MapKeys() {
			shown[fmt.Sprint(k)] = showValue(v.MapIndex(k))
		}
		return shown
	case reflect.Slice, reflect.Array:
		shown := []any{}
		for i := range v.Len() {
			shown = append(shown, showValue(v.Index(i)))
		}
		return shown
	}
	return v.Interface()
}
