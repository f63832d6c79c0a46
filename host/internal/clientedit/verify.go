package clientedit

import (
	"maps"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/clientfile"
)

// values is what a file says, as plain JSON.
func values(path string, data []byte) (gjson.Result, error) {
	raw, err := clientfile.JSON(path, data)
	return gjson.ParseBytes(raw), err
}

// sameBut says whether two objects have the same members but for the one at path;
// an object on the way that is not there, or null, is an empty one.
func sameBut(a, b gjson.Result, path []string) bool {
	one, other := members(a), members(b)
	x, y := one[path[0]], other[path[0]]
	delete(one, path[0])
	delete(other, path[0])
	if !maps.Equal(one, other) {
		return false
	}
	return len(path) == 1 || sameBut(gjson.Parse(x), gjson.Parse(y), path[1:])
}

// members are the members of an object as they are written, the last of each name.
func members(v gjson.Result) map[string]string {
	m := map[string]string{}
	if v.IsObject() {
		v.ForEach(func(key, value gjson.Result) bool {
			m[key.String()] = value.Raw
			return true
		})
	}
	return m
}
