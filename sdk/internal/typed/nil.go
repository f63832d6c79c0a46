package typed

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// WithoutNil returns v with nil slices and maps replaced by empty ones, so that
// the result keeps to the schema derived from its type, which knows no null. The
// author's own values are left alone: what changes is copied.
func WithoutNil(v reflect.Value) reflect.Value {
	t := v.Type()
	if known[t] != nil || t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return v
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() {
			return reflect.MakeSlice(t, 0, 0)
		}
		if !holdsNilable(t.Elem()) {
			return v
		}
		c := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(WithoutNil(v.Index(i)))
		}
		return c
	case reflect.Map:
		c := reflect.MakeMapWithSize(t, v.Len())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), WithoutNil(it.Value()))
		}
		return c
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(t.Elem())
		c.Elem().Set(WithoutNil(v.Elem()))
		return c
	case reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		fillFields(c)
		return c
	default:
		return v
	}
}

// fillFields does WithoutNil for the fields of an addressable struct, those
// promoted from an embedded struct of an unexported type included.
func fillFields(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.CanSet() {
			f.Set(WithoutNil(f))
		} else if v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
			fillFields(f)
		}
	}
}

// holdsNilable says whether a value of type t can hold a nil slice or map, so
// that a long list of plain values is not copied.
func holdsNilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct:
		return true
	default:
		return false
	}
}
