package server

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/collet-dev/collet/host/internal/config"
)

// restarts says of every field of an entry whether another value of it means
// another process. A new field has to be put into one of the two.
var restarts = map[string]bool{
	"File": true, "Dir": true, // relative paths, and the log
	"Plugin": true, "Command": true, "Args": true, "Cwd": true, "Env": true, "InheritEnv": true,
	"URL": true, "Headers": true, "CAFile": true, "OAuth": true, "Config": true,

	"Name": false, // never another
	"Line": false, "Layer": false, "Description": false, "Enabled": false,
	"Rules": false, "Timeout": false, "MaxTimeout": false, "StartTimeout": false, "IdleTimeout": false,
	"MaxConcurrent": false, "Retry": false, "TrustHints": false, "ValidateResults": false, "OnChange": false, "Consent": false,
}

func TestWhatMeansAnotherProcess(t *testing.T) {
	kind := reflect.TypeFor[config.Server]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		if !field.IsExported() {
			continue
		}
		want, known := restarts[field.Name]
		if !known {
			t.Errorf("config.Server has a field %s: does a server have to be restarted for it?", field.Name)
			continue
		}
		a, b := &config.Server{}, &config.Server{}
		set(t, reflect.ValueOf(b).Elem().Field(i))
		if got := !sameProcess(a, b); got != want {
			t.Errorf("%s: another process %v, want %v", field.Name, got, want)
		}
		set(t, reflect.ValueOf(a).Elem().Field(i))
		if !sameProcess(a, b) {
			t.Errorf("%s: another process for the same value", field.Name)
		}
	}
	// Nothing said and the default said are the same.
	if !sameProcess(&config.Server{}, &config.Server{Plugin: genericPlugin, Args: []string{}, Env: map[string]string{}, Config: json.RawMessage{}}) {
		t.Error("another process for a default")
	}
}

// set gives v a value that is not its zero value, deep enough to matter.
func set(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x/y")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint('{')
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf("y"))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				set(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}
