import { expect, test } from 'vitest'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'
import { fillTemplate, MAX_VALUES, type TemplateValues } from '../../../runtime/template/fill-template.ts'

const FORM = `<form name="login_form"><input name="username"><input type="password" name="password"></form>`

const VALUES: TemplateValues = {
  nonce: 'NONCE',
  formToken: 'TOKEN',
  failed: false,
  message: () => null,
  value: () => undefined,
  fields: new Map(),
}

function fill(source: string, values: Partial<TemplateValues> = {}): string {
  const { template, warnings } = compileTemplate(source, 'media/login.html')
  if (!template) throw new Error(JSON.stringify(warnings))
  return fillTemplate(template, { ...VALUES, ...values })
}

/**
 * Renders a page whose body ends with `html`.
 * @returns the part rendered from `html`
 */
function filled(html: string, values: Partial<TemplateValues> = {}): string {
  const page = fill(`<!DOCTYPE html>${FORM}<hr>${html}`, values)
  return page.slice(page.indexOf('<hr>') + 4, page.lastIndexOf('</body>'))
}

/**
 * Renders a page with `html` inside the form, after its first two fields.
 * @returns the part rendered from `html`
 */
function inForm(html: string, fields: Record<string, string> = {}): string {
  const page = fill(`<form name=login_form><input name=password><input name=username><hr>${html}</form>`, {
    fields: new Map(Object.entries(fields)),
  })
  return page.slice(page.indexOf('<hr>') + 4, page.lastIndexOf('</form>'))
}

test('fillTemplate: strings, numbers and booleans become text, and other types become empty', () => {
  const shown = (value: unknown) => filled('[%%a%%]', { value: () => value })
  expect(['x', 1.5, 0, true, false].map(shown)).toEqual(['[x]', '[1.5]', '[0]', '[true]', '[false]'])
  expect([null, undefined, {}, ['x'], () => 'x', Symbol('x')].map(shown)).toEqual(Array(6).fill('[]'))
})

test('fillTemplate: an i18n key is replaced by its text, and an unknown one by its name between exclamation marks', () => {
  const message = (key: string) => (key === 'a.b-c_d' ? 'Text' : null)
  expect(filled('%%i18n:a.b-c_d%% %%i18n:x%%', { message })).toBe('Text !x!')
})

test('fillTemplate: a value that starts with "i18n:" is looked up, but only once', () => {
  const message = (key: string) => (key === 'a b' ? 'i18n:a b %%v%%' : null)
  expect(filled('%%v%%', { message, value: () => 'i18n:a b' })).toBe('i18n:a b %%v%%')
  expect(filled('%%v%%', { message, value: () => 'i18n:' })).toBe('!!')
})

test('fillTemplate: only well-formed placeholders are filled in', () => {
  const value = (name: string) => `<${name}>`.length.toString()
  expect(filled('100%% of %%a%% %%b c%% %%i18n:%% %% %%a.b-c_1%%%%a%%', { value })).toBe(
    '100%% of 3 %%b c%% %%i18n:%% %% 93',
  )
})

test('fillTemplate: in text and attributes, the value is escaped with character references', () => {
  const value = () => `&<>"'\`=\r\0\ud800x`
  const escaped = '&amp;&lt;&gt;&quot;&#39;&#96;&#61;&#13;\ufffd\ufffdx'
  expect(filled('<p title=%%v%%>%%v%%</p><textarea>%%v%%</textarea>', { value })).toBe(
    `<p title="${escaped}">${escaped}</p><textarea>\n${escaped}</textarea>`,
  )
})

test('fillTemplate: a newline at the start of pre and textarea is kept', () => {
  expect(filled('<pre>%%v%%</pre><textarea>%%v%%</textarea>', { value: () => '\nx' })).toBe(
    '<pre>\n\nx</pre><textarea>\n\nx</textarea>',
  )
})

test('fillTemplate: in string literals of scripts, the value is escaped as \\uXXXX', () => {
  const value = () => 'Az09 \'"\u2028\ud83d\ude00'
  const escaped = 'Az09\\u0020\\u0027\\u0022\\u2028\\ud83d\\ude00'
  expect(filled("<script>'%%v%%'</script><script type=module>`%%v%%`</script>", { value })).toBe(
    `<script nonce="NONCE">'${escaped}'</script><script nonce="NONCE" type="module">\`${escaped}\`</script>`,
  )
  expect(filled('<script type="application/json">{"a":"%%v%%"}</script>', { value })).toBe(
    `<script nonce="NONCE" type="application/json">{"a":"${escaped}"}</script>`,
  )
})

test.each([
  ['https://example.test/', true],
  ['HTTP://example.test/', true],
  ['mailto:a@example.test', true],
  ['media/a.png', true],
  ['?a=b:c', true],
  ['#x', true],
  ['/a//b', true],
  ['javascript:f()', false],
  ['java\tscript:f()', false],
  ['\u0001 javascript:f()', false],
  ['\njavascript:f()', false],
  ['data:text/html,x', false],
  ['blob:x', false],
  ['tel:1', false],
  ['//example.test', false],
  ['/\\example.test', false],
  ['\\\\example.test', false],
  [' /\t/example.test', false],
])('fillTemplate: the URL %j from a value is kept: %s', (address, shown) => {
  const output = filled('<a href="%%v%%">x</a>', { value: () => address })
  expect(output === '<a href="">x</a>').toBe(!shown)
})

test('fillTemplate: a URL is checked as a whole, with the text around the values', () => {
  const href = (html: string, value: string) => filled(`<a href="${html}">x</a>`, { value: () => value })
  const empty = '<a href="">x</a>'
  expect(href('java%%v%%:f()', 'script')).toBe(empty)
  expect(href('%%v%%%%v%%', '/')).toBe(empty)
  expect(href('/%%v%%', '/example.test')).toBe(empty)
  expect(href('/p/%%v%%', '/x')).toBe('<a href="/p//x">x</a>')
  expect(href('//example.test/%%v%%', 'x')).toBe('<a href="//example.test/x">x</a>')
  expect(href('?next=%%v%%', 'javascript:x')).toBe('<a href="?next&#61;javascript:x">x</a>')
})

test.each(['src', 'action', 'formaction', 'poster', 'cite', 'data', 'background', 'longdesc', 'manifest'])(
  'fillTemplate: %s is treated as a URL',
  (name) => {
    expect(filled(`<p ${name}="%%v%%"></p>`, { value: () => 'javascript:f()' })).toBe(`<p ${name}=""></p>`)
  },
)

test('fillTemplate: xlink:href in SVG is treated as a URL', () => {
  const value = () => 'javascript:f()'
  expect(filled('<svg><a xlink:href="%%v%%"></a></svg>', { value })).toBe('<svg><a xlink:href=""></a></svg>')
})

test('fillTemplate: no value can load a script from another origin', () => {
  const source = (html: string, value: string) => filled(`<script src="${html}"></script>`, { value: () => value })
  expect(source('%%v%%', 'https://evil.test/a.js')).toBe('<script nonce="NONCE" src=""></script>')
  expect(source('https://%%v%%/a.js', 'evil.test')).toBe('<script nonce="NONCE" src=""></script>')
  expect(source('https://cdn.test%%v%%/a.js', '.evil.test')).toBe('<script nonce="NONCE" src=""></script>')
  expect(source('https://cdn.test/%%v%%.js', 'a')).toBe('<script nonce="NONCE" src="https://cdn.test/a.js"></script>')
  expect(source('media/%%v%%.js', 'a')).toBe('<script nonce="NONCE" src="media/a.js"></script>')
})

test('fillTemplate: values beyond two million characters are left empty', () => {
  const long = 'x'.repeat(MAX_VALUES / 2)
  expect(filled('%%v%%|%%v%%|%%v%%|', { value: () => long })).toBe(`${long}|${long}||`)
})

test('fillTemplate: a failed sign-in shows the error label by a style at the end of head', () => {
  const style = '<style nonce="NONCE">#errorlabel{display:block!important}</style></head>'
  expect(fill(`<title>x</title>${FORM}`, { failed: true })).toContain(`<title>x</title>${style}`)
  expect(fill(`<title>x</title>${FORM}`)).toContain('<title>x</title></head>')
})

test('fillTemplate: nonce and token are escaped', () => {
  const page = fill(`<style></style>${FORM}`, { nonce: '"<', formToken: '">' })
  expect(page).toContain('<style nonce="&quot;&lt;">')
  expect(page).toContain('name="csrf_token" value="&quot;&gt;"')
})

const NOTICE = '<p class="platform-notice" role="status">try &lt;again&gt;</p><p class="platform-reference">K7</p>'
const notice = { notice: 'try <again>', reference: 'K7' }

test('fillTemplate: notice and reference are placed after the error label or, without one, after the token', () => {
  expect(fill(`${FORM}<div><b id=errorlabel>Refused</b><i>x</i></div>`, notice)).toContain(
    `<div><b id="errorlabel" role="alert">Refused</b>${NOTICE}<i>x</i></div>`,
  )
  expect(fill(FORM, notice)).toContain(`name="csrf_token" value="TOKEN">${NOTICE}<input name="username">`)
  expect(fill(FORM, { notice: 'x' })).toContain('<p class="platform-notice" role="status">x</p>')
  expect(fill(FORM, { reference: 'K7' })).toContain('value="TOKEN"><p class="platform-reference">K7</p>')
})

test('fillTemplate: restored field values count towards the size limit, so that inputs with one name cannot exhaust memory', () => {
  const inputs = '<input name=custom_a>'.repeat(9000)
  const page = fill(FORM + inputs, { fields: new Map([['custom_a', 'x'.repeat(50_000)]]) })
  expect(page.length).toBeLessThan(3_000_000)
})

test('fillTemplate: where no paragraph is allowed, the notice is placed after the element around the error label', () => {
  const around = (html: string) => fill(FORM + html, notice)
  expect(around('<p><span id=errorlabel>x</span>y</p>')).toContain(`x</span>y</p>${NOTICE}</body>`)
  expect(around('<table><tr><td id=errorlabel>x</table>')).toContain(`</tr></tbody></table>${NOTICE}</body>`)
  expect(around('<svg><text id=errorlabel>x</text></svg>')).toContain(`x</text></svg>${NOTICE}</body>`)
})

test('fillTemplate: the values of username and custom fields are restored, but never those of password and hidden fields', () => {
  const all = Object.fromEntries(['username', 'password', 'custom_a', 'other'].map((name) => [name, '"kept"']))
  const kept = 'value="&quot;kept&quot;"'
  expect(inForm('<input name=custom_a value=x id=i>', all)).toBe(`<input name="custom_a" ${kept} id="i">`)
  expect(inForm('<input type=tel name=custom_a>', all)).toBe(`<input type="tel" name="custom_a" ${kept}>`)
  expect(inForm('<input type=text name=username>', all)).toBe(`<input type="text" name="username" ${kept}>`)
  for (const type of ['password', 'HIDDEN', 'submit', 'button', 'reset', 'file', 'image']) {
    expect(inForm(`<input type=${type} name=custom_a>`, all)).toBe(`<input type="${type}" name="custom_a">`)
  }
  expect(inForm('<input type=password name=password><input name=other>', all)).toBe(
    '<input type="password" name="password"><input name="other">',
  )
})

test('fillTemplate: a field without a restored value shows the author’s value', () => {
  expect(inForm('<input name=custom_a value="%%i18n:x%%"><textarea name=custom_b>a</textarea>')).toBe(
    '<input name="custom_a" value="!x!"><textarea name="custom_b">\na</textarea>',
  )
})

test('fillTemplate: a restored value is never treated as a placeholder', () => {
  expect(inForm('<input name=custom_a>', { custom_a: '%%i18n:x%%' })).toBe('<input name="custom_a" value="%%i18n:x%%">')
})

test('fillTemplate: the text of a textarea is restored', () => {
  expect(inForm('<textarea name=custom_a>old</textarea>', { custom_a: '\n</textarea>' })).toBe(
    '<textarea name="custom_a">\n\n&lt;/textarea&gt;</textarea>',
  )
})

test('fillTemplate: in a select, the option with the restored value or text is selected', () => {
  const html = '<select name=custom_a><option value=1 selected>A<option>  B \n b</select>'
  const select = (first: string, second: string) =>
    `<select name="custom_a"><option value="1"${first}>A</option><option${second}>  B \n b</option></select>`
  expect(inForm(html, { custom_a: 'B b' })).toBe(select('', ' selected=""'))
  expect(inForm(html, { custom_a: '1' })).toBe(select(' selected=""', ''))
  expect(inForm(html, { custom_a: 'A' })).toBe(select(' selected=""', ''))
  expect(inForm(html)).toBe(select(' selected=""', ''))
})

test('fillTemplate: an option is found by the value of its placeholder', () => {
  const html = '<select name=custom_a><option value=1>A<option value="%%i18n:x%%">B</select>'
  expect(inForm(html, { custom_a: '!x!' })).toContain('<option value="!x!" selected="">B</option>')
})

test('fillTemplate: checkboxes and radio buttons of custom fields are checked if the submitted value is theirs', () => {
  const html = '<input type=radio name=custom_a value=1 checked><input type=radio name=custom_a value=2>'
  expect(inForm(html, { custom_a: '2' })).toBe(
    '<input type="radio" name="custom_a" value="1"><input type="radio" name="custom_a" value="2" checked="">',
  )
  expect(inForm(html)).toContain('value="1" checked="">')
  expect(inForm('<input type=checkbox name=custom_a>', { custom_a: 'on' })).toBe(
    '<input type="checkbox" name="custom_a" checked="">',
  )
})
