import { expect, test } from 'vitest'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'
import { fillTemplate, type TemplateValues } from '../../../runtime/template/fill-template.ts'

const COMPLETE = `<form method="post" accept-charset="UTF-8" name="login_form" role="form">
<p id="errorlabel" class="errorlabel" role="alert">Refused</p>
<input type="text" name="username"><input type="password" name="password">
<input type="checkbox" name="remember"><input type="hidden" name="id_token"></form>`

const VALUES: TemplateValues = {
  nonce: 'NONCE',
  formToken: 'TOKEN',
  failed: false,
  message: () => null,
  value: () => 'VALUE',
  fields: new Map(),
}

function fill(source: string, values: Partial<TemplateValues> = {}): string {
  const { template, warnings } = compileTemplate(source, 'media/login.html')
  if (!template) throw new Error(JSON.stringify(warnings))
  return fillTemplate(template, { ...VALUES, ...values })
}

/**
 * Renders a page whose body ends with a complete form and then `html`.
 * @returns the part rendered from `html`
 */
function filled(html: string, values: Partial<TemplateValues> = {}): string {
  const page = fill(`<!DOCTYPE html>${COMPLETE}<hr>${html}`, values)
  return page.slice(page.indexOf('<hr>') + 4, page.lastIndexOf('</body>'))
}

/** Returns the warnings about `html`, each as `line:column code`. Positions are relative to the start of `html`. */
function warned(html: string): string[] {
  return warnings(html).map(({ line, column, code }) => `${line}:${column} ${code}`)
}

function warnings(html: string) {
  return compileTemplate(`${html}\n${COMPLETE}`, 'media/login.html').warnings
}

test('compileTemplate: a complete template has no warnings', () => {
  expect(warned('<!DOCTYPE html><title>%%i18n:t%%</title><style>p{}</style><script>f("%%a%%")</script>')).toEqual([])
})

test('compileTemplate: a missing doctype is added and an existing one is kept', () => {
  expect(fill(COMPLETE).startsWith('<!DOCTYPE html><html><head>')).toBe(true)
  const old =
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
  expect(fill(old + COMPLETE).startsWith(`${old}<html>`)).toBe(true)
})

test('compileTemplate: a page without a form, username or password results in no template, and a warning says what is missing', () => {
  const compile = (html: string) => {
    const { template, warnings } = compileTemplate(html, 'media/login.html')
    return [template, warnings.filter(({ code }) => code === 'template_replaced').map(({ message }) => message)]
  }
  const why = 'the default login page is shown instead of this page: the page does not have'
  expect(compile('')).toEqual([null, [`${why} a form with name="login_form"; add it`]])
  expect(compile('<form name=login_form></form><input name=username>')).toEqual([
    null,
    [
      `${why} an input with name="username" in the login form; add it`,
      `${why} an input with name="password" in the login form; add it`,
    ],
  ])
  expect(compile(`<template>${COMPLETE}</template>`)).toEqual([null, [`${why} a form with name="login_form"; add it`]])
})

test('compileTemplate: inputs outside the form count if their form attribute names it', () => {
  const html = '<form name=login_form id=f></form><input name=username form=f><input name=password form=f>'
  expect(compileTemplate(html, 'media/login.html').template).not.toBe(null)
})

test('compileTemplate: a form directly inside a table keeps its fields', () => {
  const page = fill('<table><form name=login_form><tr><td><input name=username><input name=password></form></table>')
  expect(page).toContain(
    '<table><form name="login_form" method="post"><input type="hidden" name="csrf_token" value="TOKEN"><tbody>',
  )
  expect(page).toContain('</table></form></body>')
})

test('compileTemplate: 60,001 elements are rejected', () => {
  const { template, warnings } = compileTemplate(COMPLETE + '<p>'.repeat(60_000), 'media/login.html')
  expect(template).toBe(null)
  expect(warnings).toEqual([
    {
      file: 'media/login.html',
      code: 'template_replaced',
      message: 'the default login page is shown instead of this page: the page has more than 60000 elements',
    },
  ])
})

test('compileTemplate: more than 10,000 placeholders are rejected', () => {
  const { template, warnings } = compileTemplate(COMPLETE + '%%a%% '.repeat(10_001), 'media/login.html')
  expect([template, warnings[0]?.code]).toEqual([null, 'template_replaced'])
})

test('compileTemplate: 50,000 nested elements are compiled and filled in', () => {
  const depth = 50_000
  expect(filled('<i>'.repeat(depth)).length).toBe('<i></i>'.length * depth)
})

test('compileTemplate: many unclosed formatting elements are rejected quickly', () => {
  const html = Array.from({ length: 20_000 }, (_, index) => `<p><b a=${index}>`).join('')
  expect(compileTemplate(COMPLETE + html, 'media/login.html').template).toBe(null)
})

test('compileTemplate: scripts and styles get the nonce, which replaces one that the author wrote', () => {
  expect(filled('<style nonce=x>p{}</style><script nonce="%%a%%" defer src=a.js></script>')).toBe(
    '<style nonce="NONCE">p{}</style><script nonce="NONCE" defer="" src="a.js"></script>',
  )
})

test('compileTemplate: scripts and styles in template, noscript and SVG get the nonce; text in srcdoc does not', () => {
  expect(filled('<template><script>1</script></template>')).toBe(
    '<template><script nonce="NONCE">1</script></template>',
  )
  expect(filled('<noscript><style>p{}</style></noscript>')).toBe(
    '<noscript><style nonce="NONCE">p{}</style></noscript>',
  )
  expect(filled('<svg><style>p{}</style><script>1</script></svg>')).toBe(
    '<svg><style nonce="NONCE">p{}</style><script nonce="NONCE">1</script></svg>',
  )
  expect(filled('<iframe srcdoc="<script>1</script>"></iframe>')).toBe(
    '<iframe srcdoc="&lt;script&gt;1&lt;/script&gt;"></iframe>',
  )
})

test('compileTemplate: the form gets the token as its first element, the method post, and neither action nor target', () => {
  const page = fill(
    '<form name=login_form action=/x target=_top method=get id=f class=c><input name=csrf_token value=mine><input name=username><input name=password><button formaction=/y formmethod=get formtarget=_top>Go</button></form><button form=f formaction=/z>Go</button>',
  )
  expect(page).toContain(
    '<form name="login_form" id="f" class="c" method="post"><input type="hidden" name="csrf_token" value="TOKEN"><input name="username"><input name="password"><button>Go</button></form><button form="f">Go</button>',
  )
})

test('compileTemplate: an action on the login form causes a warning unless it is the page itself', () => {
  const action = (address: string) => {
    const html = `<form name=login_form action="${address}"><input name=username><input name=password></form>`
    return compileTemplate(html, 'f').warnings.some(({ code }) => code === 'template_blocked_address')
  }
  expect(['', '?a=b', '#', 'index.html', './index.html?x'].map(action)).toEqual([false, false, false, false, false])
  expect(['/login', 'https://example.test', 'javascript:x', '%%a%%'].map(action)).toEqual([true, true, true, true])
})

test('compileTemplate: an error label without a role gets the role alert, and one with a role keeps it', () => {
  const label = (attributes: string) => {
    const html = COMPLETE.replace(/<p id=.*?>/, `<p id="errorlabel"${attributes}>`)
    return /<p id[^>]*>/.exec(fill(html))?.[0]
  }
  expect(label('')).toBe('<p id="errorlabel" role="alert">')
  expect(label(' role="status"')).toBe('<p id="errorlabel" role="status">')
})

test('compileTemplate: warnings say what the template lacks although the guide requires it', () => {
  const html = '<p>\n<form name=login_form><input name=username type=email><input name=password type=text></form>'
  const { warnings } = compileTemplate(html, 'media/login.html')
  expect(warnings.map(({ line, column, code, message }) => [line, column, code, message])).toEqual(
    [
      [2, 1, 'the login form is always sent with POST; write method="post"'],
      [2, 1, 'the login form has no accept-charset="UTF-8"; add it'],
      [2, 1, 'the login form has no role="form"; add it'],
      [2, 1, 'users cannot choose to be remembered; add <input type="checkbox" name="remember"> to the login form'],
      [2, 1, 'automatic sign-in does not work; add <input type="hidden" name="id_token"> to the login form'],
      [2, 1, 'users do not see that a sign-in failed; add <p id="errorlabel" class="errorlabel">'],
      [2, 23, 'the input "username" is not of type text; write <input type="text" name="username"> instead'],
      [
        2,
        55,
        'the input "password" is not of type password, so the password is visible while users type it; write <input type="password" name="password"> instead',
      ],
    ].map(([line, column, message]) => [line, column, 'template_element_missing', message]),
  )
})

test('compileTemplate: an error label without its class causes a warning', () => {
  const html = COMPLETE.replace(' class="errorlabel"', '')
  expect(compileTemplate(html, 'f').warnings.map(({ line, code }) => [line, code])).toEqual([
    [2, 'template_element_missing'],
  ])
})

test('compileTemplate: inline handlers and style attributes stay, but their placeholders are emptied and there is a warning', () => {
  expect(filled('<p onclick="f(\'%%a%%\')" style="color:%%a%%">')).toBe('<p onclick="f(\'\')" style="color:"></p>')
  expect(warned('<!DOCTYPE html>\n<p onclick="f()"\n style="color:red">')).toEqual([
    '2:4 template_inline_handler',
    '3:2 template_inline_style',
  ])
})

test.each([
  '<link rel=stylesheet href="https://cdn.test/a.css">',
  '<link rel="icon" href="//cdn.test/a.ico">',
  '<link rel=manifest href="app.json">',
  '<img src="http://cdn.test/a.png">',
  '<img srcset="a.png 1x, https://cdn.test/b.png 2x">',
  '<iframe src="a.html"></iframe>',
  '<object data="a.pdf"></object>',
  '<embed src="a.pdf">',
  '<video src="a.mp4"></video>',
  '<base href="/x/">',
  '<form action="https://example.test/"></form>',
  '<a href=" java\nscript:f()">x</a>',
  '<svg><a xlink:href="javascript:f()"></a></svg>',
  '<style>@font-face{src:url("https://cdn.test/a.woff")}</style>',
  '<style>@import "//cdn.test/a.css"</style>',
])('compileTemplate: %s has a URL that the policy blocks', (html) => {
  expect(warnings(`<!DOCTYPE html>${html}`).map(({ line, code }) => [line, code])).toEqual([
    [1, 'template_blocked_address'],
  ])
})

test.each([
  '<script src="https://cdn.test/a.js"></script>',
  '<link rel=stylesheet href="media/a.css">',
  '<link rel=icon href="data:,">',
  '<link rel=canonical href="https://example.test/">',
  '<img src="data:image/png;base64,AA==">',
  '<img src="/a.png">',
  '<a href="https://example.test/">x</a>',
  '<form action="/search"></form>',
])('compileTemplate: %s has no URL that the policy blocks', (html) => {
  expect(warned(html)).toEqual([])
})

test.each([
  ['<!DOCTYPE html>\n<script>\nvar a = %%x%%</script>', '3:9', '<script nonce="NONCE">\nvar a = </script>'],
  ['<!DOCTYPE html>\n\n<style>p{color:%%x%%}</style>', '3:16', '<style nonce="NONCE">p{color:}</style>'],
  ['<!DOCTYPE html><!-- a %%x%% -->', '1:23', '<!-- a  -->'],
  ['<!DOCTYPE html><iframe srcdoc="%%x%%"></iframe>', '1:32', '<iframe srcdoc=""></iframe>'],
  ['<!DOCTYPE html><xmp>%%x%%</xmp>', '1:21', '<xmp></xmp>'],
  ['<!DOCTYPE html><noframes>%%x%%</noframes>', '1:26', '<noframes></noframes>'],
  ['<!DOCTYPE html><p %%x%%=1 a=b>', '1:19', '<p a="b">'],
  ['<!DOCTYPE html><h%%x%%>a</h%%x%%>', '1:18', '<span>a</span>'],
  ['<!DOCTYPE html><img srcset="%%x%% 2x">', '1:29', '<img srcset=" 2x">'],
  ['<!DOCTYPE html><a ping="%%x%%">a</a>', '1:25', '<a ping="">a</a>'],
  ['<!DOCTYPE html><meta http-equiv=Refresh content="0;url=%%x%%">', '1:56', 'content="0;url="'],
  ['<!DOCTYPE html><script type="%%x%%">1</script>', '1:30', '<script nonce="NONCE" type="">1</script>'],
  ['<!DOCTYPE html><script type="text/template">"%%x%%"</script>', '1:46', '""</script>'],
  ['<!DOCTYPE html><script type="importmap">"%%x%%"</script>', '1:42', '""</script>'],
  ['<!DOCTYPE html><svg><set attributeName="href" to="%%x%%"/></svg>', '1:51', 'to=""'],
  ['<!DOCTYPE html><a href="javascript:%%x%%">a</a>', '1:36', '<a href="">a</a>'],
])('compileTemplate: the placeholder in %s stays empty with a warning', (html, place, output) => {
  const found = warned(html).filter((warning) => warning.includes('placeholder'))
  expect(found).toEqual([`${place} template_placeholder`])
  expect(fill(`${html}\n${COMPLETE}`)).toContain(output)
})

test('compileTemplate: a placeholder in the URL of a base element, or in a doctype, stays empty with a warning', () => {
  expect(warned('<!DOCTYPE html><base href="%%x%%">')).toEqual([
    '1:22 template_blocked_address',
    '1:28 template_placeholder',
  ])
  expect(warned('<!DOCTYPE html SYSTEM "%%x%%">')).toEqual(['1:24 template_placeholder'])
})

test('compileTemplate: each placeholder in a script has a warning with its own position', () => {
  expect(warned('<!DOCTYPE html><script>"%%x%%"; %%x%%;\n%%y%%</script>')).toEqual([
    '1:33 template_placeholder',
    '2:1 template_placeholder',
  ])
})

test('compileTemplate: columns are those in the file even if a doctype was inserted', () => {
  expect(warned('<p onclick=x>\n<p onclick=y>')).toEqual(['1:4 template_inline_handler', '2:4 template_inline_handler'])
  expect(warned('\ufeff<p onclick=x>')).toEqual(['1:4 template_inline_handler'])
})

test('compileTemplate: if there are more than 100 warnings, the last one says how many were omitted', () => {
  const found = warnings('<p onclick=x>'.repeat(150))
  expect(found.length).toBe(100)
  expect(found[99]).toEqual({
    file: 'media/login.html',
    code: 'more_warnings',
    message: '51 more warnings about this file are not listed',
  })
})

test.each([
  ['<script>"<!-%%x%%-<scr%%x%%ipt>"</script>', "'"],
  ['<script>a = %%x%%; </scr%%x%%ipt><p>%%x%%</p></script>', "'"],
  ['<style></st%%x%%yle><p title="%%x%%"></style>', "'"],
  ['<xmp></x%%x%%mp><p></xmp>', "'"],
])('compileTemplate: emptying the placeholders in %s does not move the end of the element', (html) => {
  expect(filled(html, { value: () => 'script' })).toMatch(/^<(\w+)[^>]*>[^<]*<\/\1>(?:<p>script<\/p>)?$/)
})

test.each([
  ['<!--%%x%%>a-->', '<!-- >a-->'],
  ['<!--a-%%x%%->b-->', '<!--a- ->b-->'],
  ['<!--a--%%x%%!>b-->', '<!--a-- !>b-->'],
  ['<!--a-%%x%%-->', '<!--a- -->'],
])('compileTemplate: emptying the placeholders in the comment %s does not move its end', (html, output) => {
  expect(filled(html)).toBe(output)
})
