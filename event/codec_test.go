package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

var frames = []Event{
	{Seq: 1, Group: 1, Type: Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1}`)},
	{Seq: 300, At: 1 << 40, Group: 130, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: TextData("东区\n📈")},
	{Seq: 1<<64 - 1, Group: 2, Type: Done, Msg: "m_1"},
	{Seq: 4, Group: 1, Type: "made_up", Msg: "", Block: "b", Data: EmptyData},
}

func TestFrameRoundTrip(t *testing.T) {
	var b []byte
	for _, e := range frames {
		b = AppendFrame(b, e)
	}
	for _, want := range frames {
		got, rest, err := ReadFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, want %+v", got, want)
		}
		b = rest
	}
	if len(b) != 0 {
		t.Errorf("%d bytes left", len(b))
	}
}

func TestEveryEventHasAFrameNumber(t *testing.T) {
	for i, typ := range frameTypes {
		if i > 0 && int(frameType(typ)) != i {
			t.Errorf("frameType(%s) = %d, want %d", typ, frameType(typ), i)
		}
	}
}

func TestReadFrameRefusesEveryPrefix(t *testing.T) {
	b := AppendFrame(nil, frames[1])
	for n := range b {
		if _, _, err := ReadFrame(b[:n]); !errors.Is(err, ErrFrame) {
			t.Errorf("%d of %d bytes: %v, want ErrFrame", n, len(b), err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, e := range frames {
		f.Add(AppendFrame(nil, e))
	}
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, rest, err := ReadFrame(b)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Fatalf("error %v does not wrap ErrFrame", err)
			}
			return
		}
		again := AppendFrame(nil, e)
		if used := b[:len(b)-len(rest)]; !bytes.Equal(again, used) {
			t.Fatalf("frame %x is written back as %x", used, again)
		}
	})
}

func TestAppendFrameDoesNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { dst = AppendFrame(dst[:0], frames[1]) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzTextData(f *testing.F) {
	f.Add("plain")
	f.Add("quote \" and \\ and \u2028\xff")
	f.Fuzz(func(t *testing.T, s string) {
		var d TextDeltaData
		if err := json.Unmarshal(TextData(s), &d); err != nil {
			t.Fatal(err)
		}
		if want := string(bytes.ToValidUTF8([]byte(s), nil)); len(want) == len(s) && d.Delta != s {
			t.Fatalf("read back %q, want %q", d.Delta, s)
		}
	})
}
