package store_test

import (
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

func TestTitleQuotes(t *testing.T) {
	const text = "Please deploy it:\n\tthe Password of the gateway is hunter2, 而且任何人都不应该知道这个密码是什么"
	for _, test := range []struct {
		title string
		want  bool
	}{
		{"", false},
		{"…", false},
		{"hunter2", true},
		{"Hunter2 …", true},
		{"hunter3", false},
		{"deploy it: the password…", true},
		{"Task: the password of the gateway", true},
		{"Task: the password is weak", false},
		{"the password of", true},   // 15 characters: all of it
		{"the password: of", false}, // 16 characters, and none of the text is so
		{"密码是什么", true},             // all of it
		{"问题：任何人都不应该吃这个蛋糕，因为它太甜了", false},          // seven characters, 21 bytes
		{"问题：而且任何人都不应该知道这个密码是什么", true},            // twenty characters
		{"and nobody knows hunter2 or why", false}, // nine characters
	} {
		got := false
		var q store.TitleQuotes
		q.Add("something else that is in no text", func() { t.Error("another title is found") })
		q.Add(test.title, func() { got = true })
		q.Look(text)
		if got != test.want {
			t.Errorf("%q: %t, want %t", test.title, got, test.want)
		}
	}
}
