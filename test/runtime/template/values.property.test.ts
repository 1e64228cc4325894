import vm from 'node:vm'
import fc from 'fast-check'
import { parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { expect, test } from 'vitest'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'
import type { CompiledTemplate } from '../../../runtime/template/compiled-template.ts'
import { fillTemplate } from '../../../runtime/template/fill-template.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { scaled } from '../../support/scale.ts'

const SEED = 20_260_101
/** How many random cases to test. 10,000 cases take 20 s of CPU time. */
const RUNS = scaled(propertyRuns(2000), 10_000)
const BASE = 'https://solhost.test/solution/shop/index.html'
const HOSTILE = [
  '<script>alert(1)</script>',
  '</script>',
  '<!--',
  '-->',
  '--!>',
  ']]>',
  '</title>',
  '</textarea>',
  '</style>',
  '</noscript><img src=x onerror=alert(1)>',
  '</select></form></table>',
  '"',
  "'",
  '`',
  '${',
  '}',
  '$',
  '{',
  '\\',
  '\\u0022',
  '%%',
  '%%password%%',
  '%%i18n:key%%',
  '%%v%%',
  'i18n:',
  'i18n:key',
  'javascript:alert(1)',
  ' \tjava\nscript:alert(1)',
  '\u0001JaVaScRiPt\r:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  '//evil.test/',
  '/\\evil.test',
  '/\t/evil.test',
  'https://example.test/?a=b&c=d#e',
  'mailto:a@example.test',
  '&amp;&lt;&#0;&#x3c;&notin',
  '=',
  '\0',
  '\n',
  '\r\n',
  '\r',
  '\t',
  '\f',
  '\u00a0',
  '\u0085',
  '\u2028',
  '\u2029',
  '\ufeff',
  '\ud800',
  '\udc00',
  '\ud83d\ude00',
  'script',
  'a',
  '',
] as const

const Fragment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) },
)
const Short = fc.array(Fragment, { maxLength: 5 }).map((fragments) => fragments.join(''))
const Long = fc
  .tuple(Fragment, fc.integer({ min: 100, max: 3000 }))
  .map(([fragment, times]) => fragment.repeat(times).slice(0, 4000))
const Value = fc.oneof({ weight: 400, arbitrary: Short }, { weight: 1, arbitrary: Long })

/** Creates HTML with the placeholder in every possible place. `id` distinguishes the HTML of the three placeholders. */
function places(id: string, placeholder: string): { head: string; body: string } {
  const p = placeholder
  return {
    head: `<meta name="m-${id}" content="${p}"><style>#${id}{color:${p}}/* ${p} */</style>
<script>
  // ${p}
  /* ${p} */
  out.${id} = ['${p}', "<${p}/script>", \`$${p}{\`, \`a\${ '${p}' + \`\${"${p}"}\` }b\`, '\\${p}', '<!--${p}-->', "</${p}>"]
  out.code_${id} = [ ${p} ]
  out.division_${id} = (4 ) / 2 + "/${p}/" + /["']/.test('${p}')
</script>
<script type="module">out.module_${id} = '${p}'</script>
<script type="application/json">{"a": "${p}", "<${p}": "${p}>"}</script>
<script type="text/template"><p>${p}</p></script>`,
    body: `<!-- ${p} --><!--${p}--><!---${p}-> -->
<p id="text-${id}">${p}</p><p id="twice-${id}">a ${p}${p} b</p><div id="attribute-${id}" title="${p}" data-a='${p}' data-b=${p} data-c=x${p}y></div>
<pre id="pre-${id}">${p}</pre><a id="whole-${id}" href="${p}">x</a><a id="path-${id}" href="/p/${p}">x</a><a id="slash-${id}" href=/${p}>x</a>
<img id="image-${id}" src='${p}' srcset="${p} 2x" alt=""><iframe srcdoc="<p>${p}</p>"></iframe><xmp>${p}</xmp>
<button type="button" onclick="f('${p}')" style="color:${p}">x</button>
<noscript id="noscript-${id}"><p title="${p}">${p}</p></noscript>
<svg><a xlink:href="${p}"><text>${p}</text></a><title>${p}</title><script>out.svg_${id} = '${p}' + "${p}"</script><style>${p}</style></svg>
<math><mtext>${p}</mtext></math><table><tr><td>${p}</td></tr></table><template><p title=${p}>${p}</p><script>'${p}'</script></template>
<select name="s-${id}"><option value="${p}">${p}</option></select><textarea id="area-${id}">${p}</textarea>`,
  }
}

const KEPT = `<input name="custom_text"><input type="radio" name="custom_radio" value="%%v%%"><textarea name="custom_area">x</textarea>
<select name="custom_select"><option>1</option><option value="%%v%%" selected>2</option><option>%%i18n:key%%</option></select>`

const SOURCES = { v: '%%v%%', w: '%%w%%', m: '%%i18n:key%%' } as const
const built = Object.entries(SOURCES).map(([id, placeholder]) => places(id, placeholder))
const template =
  compiled(`<!DOCTYPE html><html><head><title>%%v%% %%w%% %%i18n:key%%</title>${built.map(({ head }) => head).join('\n')}</head>
<body class=%%v%%><form name="login_form"><input name="username" value="%%v%%"><input type="password" name="password">${KEPT}</form>
${built.map(({ body }) => body).join('\n')}</body></html>`)

test('login template: each malicious value is only a value in every place', { timeout: 240_000 }, () => {
  const context = vm.createContext({})
  const empty = shape(render(template, ''), false)
  fc.assert(
    fc.property(Value, (value) => {
      const page = render(template, value)
      const tree = parse(page, { scriptingEnabled: false })
      same(shapeOf(tree), empty)
      checkPlaces(tree, value)
      checkScripts(tree, value, context)
    }),
    { numRuns: RUNS, seed: SEED },
  )
})

test('login template: 2,000 malicious values add no element and no attribute in a browser with scripting either', () => {
  const empty = shape(render(template, ''), true)
  fc.assert(
    fc.property(Value, (value) => same(shape(render(template, value), true), empty)),
    { numRuns: propertyRuns(2000), seed: SEED },
  )
})

test('login template: even in malformed markup, a placeholder’s value adds no element and no attribute', {
  timeout: 240_000,
}, () => {
  const soup = fc.array(fc.constantFrom(...SOUP), { maxLength: 14 }).map((tags) => tags.join(''))
  fc.assert(
    fc.property(soup, Short, (tags, value) => {
      const source = `<form name=login_form><input name=username><input name=password type=password></form>${tags}`
      const { template } = compileTemplate(source, 'media/login.html')
      if (template === null) return
      for (const scripting of [false, true]) {
        same(shape(render(template, value), scripting), shape(render(template, ''), scripting))
      }
    }),
    { numRuns: RUNS, seed: SEED },
  )
})

const SOUP = [
  ...[
    '<p>',
    '</p>',
    '<b a=%%v%%>',
    '</b>',
    '<a href=%%v%%>',
    '<a href="%%v%%/',
    '">',
    '</a>',
    '<div>',
    '</div>',
    '<br>',
  ],
  ...['<table>', '<tr>', '<td>', '</table>', '<caption>', '<colgroup>', '<col>', '<select>', '<option>', '</select>'],
  ...['<svg>', '<math>', '<mtext>', '<mglyph>', '<desc>', '<foreignObject>', '</svg>', '</math>', '<![CDATA[', ']]>'],
  ...['<annotation-xml encoding=%%v%%>', '<script>', '</script>', '<style>', '</style>', '<textarea>', '</textarea>'],
  ...[
    '<title>',
    '</title>',
    '<xmp>',
    '</xmp>',
    '<noscript>',
    '</noscript>',
    '<plaintext>',
    '<template>',
    '</template>',
  ],
  ...['<!--', '-->', '--!>', '<!', '<?', '<body c=%%v%%>', '</body>', '<head>', '<form>', '</form>', '<frameset>'],
  ...[
    '%%v%%',
    '%%i18n:key%%',
    '%%',
    "'",
    '"',
    '`',
    '${',
    '}',
    '/',
    '//',
    '/*',
    '*/',
    '\\',
    '\n',
    ' ',
    '=',
    '<',
    '>',
    '-',
    '!',
  ],
  ...[
    'script',
    's%%v%%cript',
    '<s%%v%%cript>',
    '</s%%v%%cript>',
    '<p %%v%%=1>',
    '<p on%%v%%x=1>',
    '<pre>',
    '&lt',
    '&#37;%v%%',
  ],
  ...[
    '<input type=%%v%%>',
    '<input name=custom_a>',
    '<input type=checkbox name=custom_a>',
    '<h%%v%%>',
    '<button>',
    '<li>',
  ],
]

/**
 * Expects that the values are the same. Calls the slow `expect` only if they differ: a million calls would take longer
 * than everything else.
 */
function same(actual: unknown, expected: unknown): void {
  if (actual !== expected) expect(actual).toBe(expected)
}

function sameJson(actual: unknown, expected: unknown): void {
  same(JSON.stringify(actual), JSON.stringify(expected))
}

function fits(actual: string, pattern: RegExp): void {
  if (!pattern.test(actual)) expect(actual).toMatch(pattern)
}

function compiled(source: string): CompiledTemplate {
  const { template, warnings } = compileTemplate(source, 'media/login.html')
  if (!template) throw new Error(JSON.stringify(warnings))
  return JSON.parse(JSON.stringify(template))
}

function render(template: CompiledTemplate, value: string): string {
  const fields = ['username', 'custom_text', 'custom_radio', 'custom_area', 'custom_select', 'custom_a']
  return fillTemplate(template, {
    nonce: 'NONCE',
    formToken: value,
    failed: true,
    message: (key) => (key === 'key' ? value : null),
    value: (name) => ({ v: value, w: 'i18n:key' })[name],
    fields: new Map(fields.map((field) => [field, value])),
    notice: value,
    reference: value,
  })
}

/**
 * Lists the document's elements and attributes, in order. Omits `checked` and `selected`, because they depend on the
 * value.
 */
function shapeOf(tree: Tree.Document): string {
  const names: string[] = []
  visit(tree, (element, depth) => {
    const attributes = element.attrs.map(({ name }) => name).filter((name) => name !== 'checked' && name !== 'selected')
    names.push(`${depth} ${element.namespaceURI} ${element.tagName} ${attributes.join()}`)
  })
  return names.join('\n')
}

function shape(page: string, scriptingEnabled: boolean): string {
  return shapeOf(parse(page, { scriptingEnabled }))
}

function visit(node: Tree.Node, see: (element: Tree.Element, depth: number) => void, depth = 0): void {
  if ('tagName' in node) see(node, depth)
  if ('content' in node) visit(node.content, see, depth + 1)
  if ('childNodes' in node) for (const child of node.childNodes) visit(child, see, depth + 1)
}

function textOf(node: Tree.Node): string {
  if ('value' in node) return node.value
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : ''
}

function looked(id: string, value: string): string {
  if (id !== 'v' || !value.startsWith('i18n:')) return value
  return value === 'i18n:key' ? value : `!${value.slice(5)}!`
}

/** Returns the value as a parsed HTML page contains it: characters that HTML can't represent are replaced. */
function held(value: string): string {
  return value.toWellFormed().replaceAll('\0', '\ufffd')
}

function checkPlaces(tree: Tree.Document, value: string): void {
  const seen: Record<string, string> = {}
  const comments: string[] = []
  visit(tree, (element) => {
    const attribute = (name: string) => element.attrs.find((attr) => attr.name === name)?.value ?? ''
    for (const { name, value: address } of element.attrs) {
      if (['href', 'src'].includes(name)) expectSafe(address, value)
      if (name === 'srcset') same(address, ' 2x')
      if (name === 'srcdoc') same(address, '<p></p>')
      if (name === 'onclick') same(address, "f('')")
      if (name === 'style') same(address, 'color:')
    }
    if (['script', 'style'].includes(element.tagName)) same(attribute('nonce'), 'NONCE')
    if (element.tagName === 'style') fits(textOf(element), /^(?:#\w\{color:\}\/\* {2}\*\/|#errorlabel.*|)$/)
    if (element.tagName === 'xmp') same(textOf(element), '')
    if (element.tagName === 'title' && element.parentNode?.nodeName === 'head') seen.title = textOf(element)
    for (const child of element.childNodes) if ('data' in child) comments.push(child.data)
    seen[attribute('id') || attribute('name')] = textOf(element)
    seen[`${attribute('id')}.title`] =
      `${attribute('title')}|${attribute('data-a')}|${attribute('data-b')}|${attribute('data-c')}`
    if (attribute('name') !== '')
      seen[`${attribute('name')}.value`] = attribute(element.tagName === 'meta' ? 'content' : 'value')
  })
  const text = (id: string) => held(looked(id, value))
  sameJson(
    comments,
    Object.keys(SOURCES).flatMap(() => ['  ', '', '- -> ']),
  )
  same(seen.title, `${text('v')} ${text('w')} ${text('m')}`)
  for (const id of Object.keys(SOURCES)) {
    same(seen[`text-${id}`], text(id))
    same(seen[`twice-${id}`], `a ${text(id)}${text(id)} b`)
    same(seen[`pre-${id}`], text(id))
    same(seen[`area-${id}`], text(id))
    same(seen[`noscript-${id}`], text(id))
    same(seen[`m-${id}.value`], text(id))
    same(seen[`attribute-${id}.title`], `${text(id)}|${text(id)}|${text(id)}|x${text(id)}y`)
  }
  same(seen['username.value'], held(value))
  same(seen['custom_text.value'], held(value))
  same(seen.custom_area, held(value))
  same(seen['csrf_token.value'], held(value))
}

/** Expects that a browser sees an http, https or mailto URL, or a URL on the page's own origin. */
function expectSafe(address: string, value: string): void {
  if (address === '') return
  const url = URL.parse(address, BASE)
  if (url === null) return
  fits(url.protocol, /^(?:https?|mailto):$/)
  if (!/https?:|mailto:/i.test(value.replace(/[\t\n\r]/g, ''))) same(url.origin, new URL(BASE).origin)
}

function checkScripts(tree: Tree.Document, value: string, context: vm.Context): void {
  context.out = {}
  visit(tree, (element) => {
    if (element.tagName !== 'script') return
    const type = element.attrs.find(({ name }) => name === 'type')?.value
    if (type === 'text/template') same(textOf(element), '<p></p>')
    else if (type === 'application/json') checkJson(textOf(element), value)
    else new vm.Script(textOf(element)).runInContext(context)
  })
  const out = context.out as Record<string, unknown>
  for (const id of Object.keys(SOURCES)) {
    const v = looked(id, value)
    sameJson(out[id], [v, `<${v}/script>`, `$${v}{`, `a${v}${v}b`, v, `<!--${v}-->`, `</${v}>`])
    sameJson(out[`code_${id}`], [])
    same(out[`division_${id}`], `2/${v}/${/["']/.test(v)}`)
    same(out[`module_${id}`], v)
    same(out[`svg_${id}`], v + v)
  }
}

function checkJson(text: string, value: string): void {
  const entries = Object.entries(JSON.parse(text))
  const known = Object.keys(SOURCES).map((id) => looked(id, value))
  const found = JSON.stringify(entries)
  const wanted = known.map((v) => JSON.stringify(Object.entries({ a: v, [`<${v}`]: `${v}>` })))
  if (!wanted.includes(found)) expect(wanted).toContain(found)
}
