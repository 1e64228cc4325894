// expect: contained
// shows: all were refused
const WRONG = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  '\u0000javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'blob:https://example.org/x',
  'file:///etc/passwd',
  '//example.org/x',
  '/\\example.org',
  '\\\\example.org',
  'https://user:password@example.org/',
  'about:blank',
  'ws://example.org/',
  '',
]
function attack() {
  const { away, picture, said } = forms.main.elements
  let taken = 0
  for (const address of WRONG) {
    for (const use of [
      () => {
        away.href = address
      },
      () => application.showURL(address),
      () => application.showURL(address, '_top'),
    ]) {
      try {
        use()
        taken++
      } catch {
        /* The attempt is rejected, as expected. */
      }
    }
  }
  for (const path of [...WRONG, '../secret.png', '/etc/passwd', 'a//b', './a', 'a/../b', '%2e%2e/a', 'a?b', 'a#b']) {
    try {
      picture.src = path
      taken++
    } catch {
      /* The attempt is rejected, as expected. */
    }
  }
  said.label = taken === 0 ? 'all were refused' : `ESCAPED: ${taken} were taken`
}
