package plaintext

import (
	"testing"
	"unicode/utf8"
)

func TestOf(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		" a \n\t b\u00a0c ":               "a b c",
		"<b>bold</b>&amp;<i>more":         "bold&more",
		"a<br>b<p>c":                      "a b c",
		"x<script>var a='<b>'</script>y":  "xy",
		"x<style>p{}</style>y":            "xy",
		"&lt;script&gt; is text":          "<script> is text",
		"1 < 2 and 3 > 2":                 "1 < 2 and 3 > 2",
		"a\u202eb\u200bc\x00d\U000e0041e": "abcde",
		"bad\xffutf":                      "badutf",
		"نمی\u200cخواهم":                  "نمی\u200cخواهم",
	} {
		if got := Of(in, 100); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := Of("ääääää", 8); got != "ää..." {
		t.Errorf("cut: %q", got)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("<b>x</b>&amp;", 5)
	f.Add("<script><style></script>ü", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 3 + (limit%1000+1000)%1000
		if got := Of(s, limit); len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
	})
}
