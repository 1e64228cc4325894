import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderLoginPreview } from '../../base/bundles/login-preview.ts'
import { LoginPageAnswer } from '../../base/protocol/protocol.ts'
import { contrastOf, readableOn } from '../../control-center/login-pages/contrast.ts'
import { Design, FIRST_DESIGN, LARGEST_LOGO } from '../../control-center/login-pages/design.ts'
import { compileDesign, renderDesign } from '../../control-center/login-pages/template.ts'
import { signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const FORGOT = 'https://center.example.org/forgot-password/acme/crm'

const designed = (more: object = {}) => Design.parse({ ...FIRST_DESIGN, ...more })
const faultsOf = (more: object) =>
  Design.safeParse({ ...FIRST_DESIGN, ...more }).error?.issues.map(
    ({ path, message }) => `${path.join('.')} ${message}`,
  )
const pageOf = (design: Design, locale = 'en') => {
  const { template, texts } = compileDesign(design, FORGOT)
  return renderLoginPreview({ template, texts, title: 'shop', passwordHelp: '' }, { locale, state: 'first' }, 'N').html
}

/** Injection attempts for every text field. */
const HOSTILE = [
  '</style><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "';alert(1)//",
  '%%username%% %%i18n:platform.logindialog.title%%',
  'i18n:platform.logindialog.title',
  '<%= it %><% throw 1 %>',
  '--></main><form name="login_form">',
]

describe('a design', () => {
  test('the first design compiles to a template without any violation', () => {
    const { template, texts } = renderDesign(FIRST_DESIGN, FORGOT)
    expect(LoginPageAnswer.safeParse({ template, texts }).success).toBe(true)
    // `compileDesign` also throws if the template has warnings.
    expect(() => compileDesign(FIRST_DESIGN, FORGOT)).not.toThrow()
    expect(pageOf(FIRST_DESIGN, 'nl')).toContain(`<a href="${FORGOT}">Wachtwoord vergeten?</a>`)
    // Ignore the style sheet, which always has a rule for that link.
    expect(renderDesign(FIRST_DESIGN, null).template.replace(/<style[\s\S]*?<\/style>/, '')).not.toContain('forgot')
  })

  test('texts are taken from the language, then from the defaults, then from the platform', () => {
    const design = designed({
      texts: { default: { title: 'Welcome', intro: 'Hello' }, nl: { title: 'Welkom', forgot: 'Kwijt?' } },
    })
    expect(pageOf(design, 'nl')).toMatch(/<h1 id="title">Welkom<\/h1>\s*<p class="intro">Hello<\/p>/)
    expect(pageOf(design, 'nl')).toContain('>Kwijt?</a>')
    expect(pageOf(design, 'de')).toMatch(/<h1 id="title">Welcome<\/h1>/)
    expect(pageOf(design, 'de')).toContain('>Anmelden</button>')
    expect(pageOf(designed({ texts: { nl: { help: 'Bel 1234' } } }), 'fr')).toContain('Bel 1234')
    expect(pageOf(design, 'fr')).not.toMatch(/![a-z.]+!/)
  })

  test('additional fields have labels and choices in the user’s language', () => {
    const fields = [
      { name: 'custom_code', type: 'text', required: true, labels: { default: 'Code', de: 'Kürzel' } },
      {
        name: 'custom_site',
        type: 'select',
        labels: { default: 'Site' },
        options: [{ value: 'north', labels: { default: 'North', de: 'Nord' } }],
      },
    ]
    const html = pageOf(designed({ fields }), 'de')
    expect(html).toMatch(/<label for="custom_code">Kürzel<\/label>\s*<input [^>]*name="custom_code"[^>]* required/)
    expect(html).toContain('<option value="north">Nord</option>')
    expect(pageOf(designed({ fields }), 'nl')).toContain('<option value="north">North</option>')
  })

  test.each(HOSTILE)('text that people enter is escaped: %s', (text) => {
    const texts = Object.fromEntries(
      ['title', 'intro', 'username', 'password', 'remember', 'submit', 'failed', 'forgot', 'help', 'logo'].map(
        (name) => [name, text],
      ),
    )
    const fields = [
      {
        name: 'custom_x',
        type: 'select',
        labels: { default: text },
        options: [{ value: 'a', labels: { default: text } }],
      },
    ]
    const plain = designed({
      logo: PIXEL,
      texts: { default: Object.fromEntries(Object.keys(texts).map((name) => [name, 'T'])) },
      fields: [{ ...fields[0], labels: { default: 'T' }, options: [{ value: 'a', labels: { default: 'T' } }] }],
    })
    const hostile = designed({ logo: PIXEL, texts: { default: texts }, fields })
    // The markup is identical. The malicious text is only in the text tables.
    expect(renderDesign(hostile, FORGOT).template).toBe(renderDesign(plain, FORGOT).template)
    const tagsOf = (html: string) => html.replace(/<(script|style)[^>]*>.*?<\/\1>/gs, '').match(/<[a-z/!][^\s>]*/gi)
    expect(tagsOf(pageOf(hostile))).toEqual(tagsOf(pageOf(plain)))
    expect(pageOf(hostile)).not.toMatch(/<script>alert|onerror=alert\(1\)>/)
  })

  test.each([
    [{ colours: { light: { background: '#ffffff;}', text: '#000000', accent: '#000000' }, dark: null } }, 'colour'],
    [{ logo: 'data:image/svg+xml;base64,PHN2Zy8+' }, 'SVG can contain scripts'],
    [{ logo: 'https://example.org/logo.png' }, 'a PNG, JPEG or WebP image'],
    [
      { logo: `data:image/png;base64,${Buffer.from('<svg onload=x>').toString('base64')}` },
      'a PNG, JPEG or WebP image',
    ],
    [{ logo: PIXEL.replace('png', 'jpeg') }, 'a PNG, JPEG or WebP image'],
    [{ logo: `${PIXEL}" onerror="x` }, 'a PNG, JPEG or WebP image'],
    [{ fields: [{ name: 'custom_"><b', type: 'text', labels: { default: 'x' } }] }, 'must be custom_'],
    [{ fields: [{ name: 'password', type: 'text', labels: { default: 'x' } }] }, 'must be custom_'],
    [
      { fields: [{ name: 'custom_a', type: 'select', labels: { default: 'x' } }] },
      'must contain at least one option if the type is "select"',
    ],
    [
      {
        fields: [
          {
            name: 'custom_a',
            type: 'select',
            labels: { default: 'x' },
            options: [{ value: '"', labels: { default: 'x' } }],
          },
        ],
      },
      '1 to 50 letters',
    ],
    [{ fields: [{ name: 'custom_a', type: 'text', labels: { nl: 'x' } }] }, 'default'],
    [
      { fields: ['a', 'a'].map((name) => ({ name: `custom_${name}`, type: 'text', labels: { default: 'x' } })) },
      'twice',
    ],
    [{ texts: { xx: {} } }, 'xx'],
    [{ css: 'body{}' }, 'css'],
  ])('%j is rejected', (more, what) => {
    expect(faultsOf(more)?.join()).toContain(what)
  })

  test('a logo of the maximum size is accepted, and one byte more is rejected', () => {
    const start = Buffer.from('89504e470d0a1a0a', 'hex')
    const logoOf = (size: number) =>
      `data:image/png;base64,${Buffer.concat([start, Buffer.alloc(size - start.length)]).toString('base64')}`
    expect(() => compileDesign(designed({ logo: logoOf(LARGEST_LOGO) }), FORGOT)).not.toThrow()
    expect(faultsOf({ logo: logoOf(LARGEST_LOGO + 1) })?.join()).toContain('is 160001 bytes; the maximum is 160000')
  })

  test('colors with too little contrast are rejected, and the error contains the contrast', () => {
    const light = { background: '#ffffff', text: '#777777', accent: '#ffcc00' }
    expect(faultsOf({ colours: { light, dark: null } })).toEqual([
      'colours.light.text has a contrast ratio of 4.47 against the background; at least 4.5 is required (WCAG AA)',
      'colours.light.accent has a contrast ratio of 1.51 against the background; at least 4.5 is required (WCAG AA)',
    ])
    expect(
      faultsOf({ colours: { light: { ...light, text: '#767676', accent: '#000000' }, dark: null } }),
    ).toBeUndefined()
  })

  test('the text color derived from any color is readable on it', () => {
    for (let value = 0; value < 256; value++) {
      const colour = `#${value.toString(16).padStart(2, '0').repeat(3)}`
      expect(contrastOf(colour, readableOn(colour))).toBeGreaterThanOrEqual(4.5)
    }
  })
})

describe('publishing', () => {
  const PAGE = 'organisations/acme/solutions/crm/login-page'
  let center: TestCenter
  let satellite: { readonly id: string; readonly token: string }
  beforeAll(async () => {
    center = await startTestCenter()
    satellite = await center.environment('plant')
    await center.parts.environments.addSolution(satellite.id, 'crm')
  })
  afterAll(() => center?.stop())

  const titled = (title: string) => ({ ...FIRST_DESIGN, texts: { default: { title } } })
  const fetched = (etag?: string, token = satellite.token, solution = 'crm') =>
    ask(`${center.url}/satellite/v1/solutions/${solution}/login-page`, {
      headers: { authorization: `Bearer ${token}`, ...(etag === undefined ? {} : { 'if-none-match': etag }) },
    })

  test('a Satellite gets its solutions’ pages, and no content while a page is unchanged', async () => {
    const first = await fetched()
    expect(first.status).toBe(200)
    LoginPageAnswer.parse(JSON.parse(first.text))
    const etag = String(first.headers.etag)
    expect(await fetched(etag)).toMatchObject({ status: 304, text: '' })
    await center.api('PUT', PAGE, { design: titled('Acme') })
    const second = await fetched(etag)
    expect(second.status).toBe(200)
    expect(JSON.parse(second.text).texts.default['platform.logindialog.title']).toBe('Acme')
    expect((await fetched(undefined, satellite.token, 'shop')).status).toBe(404)
    expect((await fetched(undefined, (await center.environment('other')).token)).status).toBe(404)
  })

  test('publishing a design does not overwrite a version that was published in the meantime', async () => {
    const { number } = (await center.api('GET', PAGE)).body
    expect((await center.api('PUT', PAGE, { design: titled('one'), base: number })).status).toBe(201)
    const late = await center.api('PUT', PAGE, { design: titled('two'), base: number })
    expect([late.status, late.body.code]).toEqual([409, 'ERR_CHANGED_MEANWHILE'])
    expect((await center.api('PUT', PAGE, { design: { ...titled('x'), css: '' } })).status).toBe(422)
  })

  test('the last ten versions are kept, and each of them can be restored', async () => {
    for (let at = 0; at < 12; at++) await center.api('PUT', PAGE, { design: titled(`design ${at}`) })
    const { number, history } = (await center.api('GET', PAGE)).body
    expect(history.map((one: { number: number }) => one.number)).toEqual(
      Array.from({ length: 10 }, (_, at) => number - at),
    )
    expect((await center.api('POST', `${PAGE}/versions/${number - 9}/use`)).body).toMatchObject({ number: number + 1 })
    expect((await center.api('GET', PAGE)).body.design).toEqual(titled('design 2'))
    expect((await center.api('POST', `${PAGE}/versions/1/use`)).body.code).toBe('ERR_VERSION_NOT_FOUND')
    expect((await center.api('POST', `${PAGE}/versions/x/use`)).status).toBe(422)
  })

  test('a draft is shown only to its author, in a frame on the page', async () => {
    const browser = await signInToCenter(center)
    const published = (await center.api('GET', PAGE)).body.number
    expect((await browser.api('PUT', `${PAGE}/draft`, { design: titled('my draft') })).status).toBe(204)
    const preview = `${center.url}/o/acme/solutions/crm/login-page/preview?locale=nl&state=refused`
    const framed = { 'sec-fetch-dest': 'iframe', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-origin' }
    const shown = await ask(preview, { headers: { ...framed, cookie: browser.cookie } })
    expect(shown.text).toContain('my draft')
    expect(shown.text).toMatch(/#errorlabel\{display:\s*block/)
    const policy = String(shown.headers['content-security-policy'])
    expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none'; script-src 'nonce-/)
    expect(policy).toContain("form-action 'none'")
    expect(policy).toContain("frame-ancestors 'self'")
    for (const headers of [{ ...framed }, { ...framed, cookie: browser.cookie, 'sec-fetch-dest': 'document' }]) {
      expect((await ask(preview, { headers })).status).toBe(403)
    }
    expect((await center.api('GET', PAGE)).body.number).toBe(published)
    expect((await fetched()).text).not.toContain('my draft')
    const weak = {
      ...FIRST_DESIGN,
      colours: { light: { background: '#fff000', text: '#ffffff', accent: '#000000' }, dark: null },
    }
    const refusal = await browser.api('PUT', `${PAGE}/draft`, { design: weak })
    expect([refusal.status, refusal.body.detail]).toEqual([
      422,
      expect.stringContaining('has a contrast ratio of 1.18'),
    ])
    expect((await browser.api('DELETE', `${PAGE}/draft`)).status).toBe(204)
  })
})
