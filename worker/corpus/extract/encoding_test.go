package extract_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/kesita/platform/worker/corpus/extract"
	"github.com/kesita/platform/worker/corpus/refusal"
)

func TestEncodings(t *testing.T) {
	t.Parallel()
	const text = "Grüße aus der Gärtnerei, naïve façade."

	for name, c := range map[string]struct {
		form encoding.Encoding
		hint extract.Hint
		text string
	}{
		"UTF8WithAMark":                {unicode.UTF8BOM, extract.Hint{}, text},
		"UTF16LittleEndianWithAMark":   {unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), extract.Hint{}, text},
		"UTF16BigEndianWithAMark":      {unicode.UTF16(unicode.BigEndian, unicode.UseBOM), extract.Hint{}, text},
		"UTF16LittleEndianWithoutMark": {unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), extract.Hint{}, text},
		"UTF16BigEndianWithoutMark":    {unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), extract.Hint{}, text},
		"Latin1":                       {charmap.ISO8859_1, extract.Hint{}, text},
		"Windows1252":                  {charmap.Windows1252, extract.Hint{}, text + " “quoted” – €"},
		"ThePageSaysShiftJIS":          {japanese.ShiftJIS, extract.Hint{Name: "x.html"}, "<meta charset=shift_jis>日本語の文章です"},
		"TheServerSaysKOI8":            {charmap.KOI8R, extract.Hint{MediaType: "text/plain; charset=koi8-r"}, "Привет, садовник"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := c.form.NewEncoder().String(c.text)
			require.NoError(t, err)
			got, err := extract.Extract(t.Context(), strings.NewReader(raw), c.hint)
			require.NoError(t, err)
			require.Equal(t, strings.TrimPrefix(c.text, "<meta charset=shift_jis>"), got.Sections[0].Text)
		})
	}

	t.Run("AFewBrokenBytesDoNotTurnUTF8IntoLatin1", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, text+"\xc3 end", "")
		require.NoError(t, err)
		require.Equal(t, text+"\ufffd end", got.Sections[0].Text)
	})

	t.Run("LettersAreComposedAndInvisibleCharactersDropped", func(t *testing.T) {
		t.Parallel()
		got, err := extracted(t, "Cafe\u0301 sau\u00adber\u0007 \x1b[1m\u009b\ufeff\ufffe\U0001ffff ok and enough text to be no noise at all, for one bell in a hundred bytes is let through", "")
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(got.Sections[0].Text, "Café sauber [1m ok"), got.Sections[0].Text)
	})
}

func TestWhatIsNoTextIsRefused(t *testing.T) {
	t.Parallel()
	random := make([]byte, 4096)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)

	for name, c := range map[string]struct {
		raw  string
		want refusal.Code
	}{
		"RandomBytes":            {string(random), refusal.Binary},
		"RandomBytesWithAMark":   {"\xff\xfe" + string(random), refusal.Binary},
		"ATextWithANulFarInside": {strings.Repeat("text ", 5000) + "\x00", refusal.Binary},
		"AProgram":               {"\x7fELF\x02\x01\x01\x00" + string(random), refusal.Binary},
		"ManyControlCharacters":  {strings.Repeat("a\x01\x02", 100), refusal.Binary},
		"APDF":                   {"%PDF-1.7\nall readable", refusal.Unsupported},
		"APicture":               {"\x89PNG\x0d\x0a\x1a\x0a" + string(random), refusal.Unsupported},
		"AnArchiveOrOfficeFile":  {"PK\x03\x04" + string(random), refusal.Unsupported},
		"ACompressedFile":        {"\x1f\x8b\x08" + string(random), refusal.Unsupported},
		"APDFThatIsCalledAText":  {"%PDF-1.4", refusal.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := extracted(t, c.raw, "x.txt")
			require.ErrorIs(t, err, c.want)
			require.False(t, refusal.Heals(err))
		})
	}
}
