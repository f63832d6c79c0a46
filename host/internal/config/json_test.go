package config

import "testing"

func TestConfigAsJSON(t *testing.T) {
	for _, c := range []struct{ toml, want string }{
		{``, `{}`},
		{"z=1\na=2\nm=3", `{"z":1,"a":2,"m":3}`},
		{"a=9223372036854775807\nb=-9223372036854775808\nc=9007199254740993\nd=1_000\ne=0xFF\nf=+7\ng=0b11", `{"a":9223372036854775807,"b":-9223372036854775808,"c":9007199254740993,"d":1000,"e":255,"f":7,"g":3}`},
		{"a=1.0\nb=+1_000.50\nc=6.0e23\nd=-0.0\ne=5e+22\nf=1e06 # x", `{"a":1.0,"b":1000.50,"c":6.0e23,"d":-0.0,"e":5e+22,"f":1e06}`},
		{"a=true\nb=false", `{"a":true,"b":false}`},
		{"a='<&>\u2028'\nb=\"\\u0000\\n\\\"\\\\\"", `{"a":"<&>\u2028","b":"\u0000\n\"\\"}`},
		{"a=1979-05-27T07:32:00.5Z\nb=1979-05-27 07:32:00-07:00\nc=1979-05-27t07:32:00z\nd=1979-05-27\ne=07:32:00", `{"a":"1979-05-27T07:32:00.5Z","b":"1979-05-27T07:32:00-07:00","c":"1979-05-27T07:32:00Z","d":"1979-05-27","e":"07:32:00"}`},
		{"a=[1,[],[2,[3.0]],{b=1,a=[{}]}]", `{"a":[1,[],[2,[3.0]],{"b":1,"a":[{}]}]}`},
		{"b.c=1\na={y=1,x.w=2}\nb.a=2", `{"b":{"c":1,"a":2},"a":{"y":1,"x":{"w":2}}}`},
		{"[[servers.s.config.t]]\nb=1.50\na=2\n[[servers.s.config.t]]\n[servers.s.config.t.u]\nv=1", `{"t":[{"b":1.50,"a":2},{"u":{"v":1}}]}`},
		{"\"a.b\"=1\n'c\"d'=2\n\"\"=3", `{"a.b":1,"c\"d":2,"":3}`},
	} {
		s := entry(t, "plugin='p'\n[servers.s.config]\n"+c.toml)
		if got := string(s.Config); got != c.want {
			t.Errorf("%s\n%s, want\n%s", c.toml, got, c.want)
		}
		out, err := s.Resolve(t.Context(), testResolver())
		if err != nil || string(out.Config) != c.want {
			t.Errorf("resolved %s, %v, want\n%s", out.Config, err, c.want)
		}
	}
}
