import { type DefaultTreeAdapterTypes, parse } from 'parse5'
import { describe, expect, test } from 'vitest'
import { defaultLoginTemplate, type ErrorKind, errorPage } from '../../../base/web/pages.ts'
import type { PageFrame } from '../../../base/web/render-page.ts'
import { PLATFORM_LOCALES } from '../../../base/web/texts.ts'
import { OAUTH_PROBLEMS } from '../../../host/oauth/problems.ts'
import {
  fragmentPage,
  goesOnPage,
  type OAuthProblemModel,
  oauthProblemPage,
  repostPage,
  signedOutPage,
  solutionListPage,
} from '../../../host/web/pages.ts'

const KINDS: readonly ErrorKind[] = [
  'not-found',
  'method',
  'too-large',
  'content-type',
  'unknown-host',
  'forbidden',
  'no-right',
  'stopping',
  'maintenance',
  'mode-unavailable',
  'busy',
  'throttled',
  'database',
  'internal',
  'bad-request',
]

/** All pages. `value` returns the text for each field of the page's model. */
const PAGES: readonly [
  name: string,
  fields: readonly string[],
  render: (frame: PageFrame, value: (field: string) => string) => string,
][] = [
  [
    'error',
    ['reference', 'retry'],
    (frame, value) =>
      errorPage(frame, {
        status: 503,
        kind: 'busy',
        reference: value('reference'),
        retry: { href: value('retry') },
      }),
  ],
  [
    'solution list',
    ['title', 'description', 'href', 'adminPages'],
    (frame, value) =>
      solutionListPage(frame, {
        solutions: [{ name: 'orders', title: value('title'), description: value('description'), href: value('href') }],
        adminPages: value('adminPages'),
      }),
  ],
  [
    'signed out',
    ['title', 'signInHref'],
    (frame, value) => signedOutPage(frame, { solution: { title: value('title') }, signInHref: value('signInHref') }),
  ],
  ['redirect', ['href', 'shown'], (frame, value) => goesOnPage(frame, { href: value('href'), shown: value('shown') })],
  [
    'signed out, but not at the provider',
    ['title', 'signInHref', 'provider'],
    (frame, value) =>
      signedOutPage(frame, {
        solution: { title: value('title') },
        signInHref: value('signInHref'),
        provider: value('provider'),
      }),
  ],
  [
    'OAuth problem',
    ['title', 'provider', 'reference', 'user', 'tryAgainHref', 'otherAccountHref'],
    (frame, value) =>
      oauthProblemPage(frame, {
        page: 'unknown-user',
        solution: { title: value('title') },
        provider: value('provider'),
        reference: value('reference'),
        user: value('user'),
        tryAgainHref: value('tryAgainHref'),
        otherAccountHref: value('otherAccountHref'),
      }),
  ],
]

const FRAME: PageFrame = { locale: 'nl-BE', nonce: 'n0nce' }
const plain = (field: string) => field
const hostile = (field: string) => `${field}"'><script>alert(1)</script><p onclick=x style=y>&amp;`

/**
 * The only page with a script, which removes the provider's response from the URL. The page's values are not used in
 * it.
 */
const CLEARS_ADDRESS = 'OAuth problem'

describe.each(PAGES)('pages: %s', (name, fields, render) => {
  const scriptsWith = (nonce: string) => (name === CLEARS_ADDRESS ? [{ nonce }] : [])

  test('the page has the language, the nonce and the common parts', () => {
    const page = read(render(FRAME, plain))
    expect(page.html.startsWith('<!DOCTYPE html>\n')).toBe(true)
    expect(page.attributes('html', 'lang')).toEqual(['nl'])
    expect(page.attributes('style', 'nonce')).toEqual(['n0nce'])
    expect(page.attributes('link', 'href')).toEqual(['data:,'])
    expect(page.attributes('meta', 'name')).toEqual(['viewport', 'color-scheme'])
    expect([page.named('h1').length, page.named('header').length, page.named('main').length]).toEqual([1, 1, 1])
  })

  test('the page has its own title, or the given one', () => {
    expect(read(render(FRAME, plain)).title).toMatch(/^.+ · Solhost$/)
    expect(read(render({ ...FRAME, title: 'Given' }, plain)).title).toBe('Given')
  })

  test('the page escapes every value', () => {
    const page = read(render({ locale: hostile('locale'), nonce: hostile('nonce'), title: hostile('title') }, hostile))
    expect(page.named('script').map(attributesOf)).toEqual(scriptsWith(hostile('nonce')))
    expect(page.attributes('style', 'nonce')).toEqual([hostile('nonce')])
    expect(page.title).toBe(hostile('title'))
    expect(fields.filter((field) => !page.values.some((value) => value.includes(hostile(field).slice(0, 12))))).toEqual(
      [],
    )
  })

  test('the page has no style attributes or inline handlers, and only the script that it needs', () => {
    const page = read(render(FRAME, plain))
    expect(page.attributeNames.filter((name) => name === 'style' || name.startsWith('on'))).toEqual([])
    expect(page.named('script').map(attributesOf)).toEqual(scriptsWith('n0nce'))
  })

  test.each(PLATFORM_LOCALES)('the page has all its texts in %s', (locale) => {
    const page = render({ ...FRAME, locale }, plain)
    expect(page).not.toMatch(/!platform\.|\{\d\}|undefined|\[object/)
  })
})

describe.each(KINDS)('pages: error %s', (kind) => {
  test.each(PLATFORM_LOCALES)(
    'the error page says in %s what happened, what to do next and the reference',
    (locale) => {
      const page = errorPage({ ...FRAME, locale }, { status: 503, kind, reference: 'r-1' })
      expect(page).not.toContain('!platform.')
      expect(page).toContain('<code class="copy">r-1</code>')
    },
  )
})

const PROBLEM: Omit<OAuthProblemModel, 'page'> = {
  solution: { title: 'Orders' },
  provider: 'Example ID',
  reference: 'r-1',
  user: 'anna@example.org',
  tryAgainHref: '/again',
  otherAccountHref: null,
}
const PROBLEM_PAGES = Object.values(OAUTH_PROBLEMS).map(({ page }) => page)

describe.each(PROBLEM_PAGES)('pages: OAuth problem %s', (page) => {
  test.each(PLATFORM_LOCALES)(
    'the problem page says in %s what happened, with and without a provider, and the reference',
    (locale) => {
      for (const provider of ['Example ID', null]) {
        const html = oauthProblemPage({ ...FRAME, locale }, { ...PROBLEM, page, provider })
        expect(html).not.toMatch(/!platform\.|\{\d\}|undefined|null|\[object/)
        expect(html).toContain('<code class="copy">r-1</code>')
        expect(read(html).attributes('a', 'href')).toEqual(['/again'])
      }
    },
  )

  test.each(PLATFORM_LOCALES)('the problem page in %s addresses users, not developers', (locale) => {
    const { text } = read(oauthProblemPage({ ...FRAME, locale }, { ...PROBLEM, page }))
    expect(text).not.toMatch(/oauth|openid|token|jwt|issuer|callback|https?\b/i)
  })

  test('the problem page mentions only the account that it is about', () => {
    const { text } = read(oauthProblemPage(FRAME, { ...PROBLEM, page }))
    expect(text.includes('anna@example.org')).toBe(page === 'unknown-user')
  })
})

test('pages: an OAuth problem isolates values from the text around them', () => {
  const page = read(oauthProblemPage({ ...FRAME, locale: 'en' }, { ...PROBLEM, page: 'denied', provider: '\u202Eabc' }))
  const set = page.named('bdi').map(({ childNodes }) => childNodes.map((node) => ('value' in node ? node.value : '')))
  expect(set.flat()).toEqual(['Orders', '\u202Eabc', 'Orders'])
})

test('pages: an unknown user sees the account and the provider, if they are known', () => {
  const facts = (model: Partial<OAuthProblemModel>) => {
    const page = read(oauthProblemPage({ ...FRAME, locale: 'en' }, { ...PROBLEM, page: 'unknown-user', ...model }))
    return page.named('dt').flatMap(({ childNodes }) => childNodes.map((node) => ('value' in node ? node.value : '')))
  }
  expect(facts({})).toEqual(['Account', 'Signed in with'])
  expect(facts({ user: null })).toEqual(['Signed in with'])
  expect(facts({ provider: null })).toEqual(['Account'])
  expect(facts({ user: null, provider: null })).toEqual([])
})

test('pages: the first option for an unknown user is to use another account', () => {
  const page = oauthProblemPage(
    { ...FRAME, locale: 'en' },
    { ...PROBLEM, page: 'unknown-user', otherAccountHref: '/o' },
  )
  expect(page.match(/<a .*<\/a>/g)).toEqual([
    '<a class="button" href="/o">Use another account</a>',
    '<a href="/again">Try again</a>',
  ])
})

test('pages: names of any length are shortened to 120 characters, without splitting a character', () => {
  const page = oauthProblemPage(FRAME, { ...PROBLEM, page: 'unknown-user', user: '😀'.repeat(10_000) })
  expect(page).toContain(`<bdi>${'😀'.repeat(120)}…</bdi>`)
  expect(oauthProblemPage(FRAME, { ...PROBLEM, page: 'unknown-user', user: 'é'.repeat(120) })).toContain(
    `<bdi>${'é'.repeat(120)}</bdi>`,
  )
})

test.each([
  ['en', 1, 'Please try again in <bdi>1 second</bdi>.'],
  ['en', 4.2, 'Please try again in <bdi>5 seconds</bdi>.'],
  ['de-AT', 30, 'Bitte versuchen Sie es in <bdi>30 Sekunden</bdi> erneut.'],
  ['en', undefined, 'Please wait a few seconds, then try again.'],
])('pages: a busy sign-in says in %s to wait %s seconds', (locale, retryInSeconds, text) => {
  expect(oauthProblemPage({ ...FRAME, locale }, { ...PROBLEM, page: 'busy', retryInSeconds })).toContain(text)
})

test('pages: an expired sign-in offers to sign in again', () => {
  expect(oauthProblemPage({ ...FRAME, locale: 'en' }, { ...PROBLEM, page: 'expired' })).toContain(
    '<a class="button" href="/again">Sign in again</a>',
  )
})

test.each([undefined, null, ''])('pages: the signed-out page mentions no provider if there is %j', (provider) => {
  const page = signedOutPage({ ...FRAME, locale: 'en' }, { solution: { title: 'A' }, signInHref: '/in', provider })
  expect(page).not.toContain('still be signed in')
})

describe('pages: those that post a provider’s response', () => {
  const fragment = (value: (field: string) => string, frame = FRAME) =>
    fragmentPage(frame, { solution: { title: value('title') }, action: value('action') })
  const repost = (value: (field: string) => string, frame = FRAME) =>
    repostPage(frame, { action: value('action'), fields: [[value('name'), value('value')]] })

  test.each([
    ['fragment', fragment],
    ['repost', repost],
  ])('%s: the page has one script, with the nonce, which contains no values', (_name, render) => {
    const script = read(render(plain)).named('script').map(attributesOf)
    expect(script).toEqual([{ nonce: 'n0nce' }])
    const page = read(render(hostile, { ...FRAME, nonce: hostile('nonce') }))
    expect(page.named('script').map(attributesOf)).toEqual([{ nonce: hostile('nonce') }])
    expect(page.attributes('form', 'action')).toEqual([hostile('action')])
    expect(page.named('p').flatMap(({ attrs }) => attrs.filter(({ name }) => name === 'onclick'))).toEqual([])
  })

  test.each(PLATFORM_LOCALES)('the pages that post a provider’s response have all their texts in %s', (locale) => {
    const page = fragment(plain, { ...FRAME, locale }) + repost(plain, { ...FRAME, locale })
    expect(page).not.toMatch(/!platform\.|\{\d\}|undefined|\[object/)
  })

  test('the fragment’s form has only its marker until the script adds fields', () => {
    const page = read(fragment(plain))
    expect(page.named('form').map(attributesOf)).toMatchObject([{ method: 'post', action: 'action', hidden: '' }])
    expect(page.named('input').map(attributesOf)).toEqual([{ type: 'hidden', name: 'from', value: 'fragment' }])
  })

  test('the form that posts again has the original fields, including repeated ones, and its marker', () => {
    const fields = [
      ['state', 's"1&amp;'],
      ['state', '<s2>'],
      ['submit', 'x'],
    ] as const
    const page = read(repostPage(FRAME, { action: '/solution/a/app_oauth/index.html', fields }))
    expect(page.named('form').map(attributesOf)).toMatchObject([
      { method: 'post', action: '/solution/a/app_oauth/index.html' },
    ])
    expect(page.named('input').map(attributesOf)).toEqual([
      ...fields.map(([name, value]) => ({ type: 'hidden', name, value })),
      { type: 'hidden', name: 'from', value: 'form_post' },
    ])
  })
})

test('pages: an error without a retry offers no link', () => {
  expect(read(errorPage(FRAME, { status: 404, kind: 'not-found', reference: 'r-1' })).named('a')).toEqual([])
})

test('pages: a client without a user has no sign-out form', () => {
  expect(read(PAGES[3]?.[2](FRAME, plain) ?? '').named('form')).toEqual([])
})

test('pages: the redirect page opens its URL immediately, and has a link to it', () => {
  const page = read(goesOnPage(FRAME, { href: 'https://id.example/?a=1&b=2', shown: 'id.example' }))
  expect(page.attributes('meta', 'content')).toContain('0; url=https://id.example/?a=1&b=2')
  expect(page.attributes('a', 'href')).toEqual(['https://id.example/?a=1&b=2'])
})

test.each(['javascript:alert(1)', ' javascript:alert(1)', 'java\nscript:alert(1)', 'data:text/html,x', 'http://'])(
  'pages: a page never redirects to %j',
  (href) => {
    expect(() => goesOnPage(FRAME, { href, shown: 'x' })).toThrow(TypeError)
  },
)

test('pages: an empty list shows a message', () => {
  const frame = { ...FRAME, locale: 'en' }
  const model = { solutions: [], adminPages: null }
  const page = solutionListPage(frame, model)
  expect(page).toContain('No solutions yet.')
  expect(page).not.toContain('admin pages')
})

describe('pages: the default login template', () => {
  const template = defaultLoginTemplate()
  const page = read(template)
  const input = (name: string) =>
    page
      .named('input')
      .map(attributesOf)
      .find((attributes) => attributes.name === name)

  test('the default template has the form in the product guide, without an action', () => {
    expect(page.named('form').map(attributesOf)).toEqual([
      {
        method: 'post',
        'accept-charset': 'UTF-8',
        name: 'login_form',
        role: 'form',
        'aria-labelledby': 'title',
      },
    ])
    expect(input('username')).toMatchObject({ type: 'text', autocomplete: 'username', autocapitalize: 'none' })
    expect(input('password')).toMatchObject({ type: 'password', autocomplete: 'current-password' })
    expect(input('remember')).toMatchObject({ type: 'checkbox' })
    expect(input('id_token')).toEqual({ type: 'hidden', name: 'id_token' })
  })

  test('the default template has the error label, hidden by its style', () => {
    const label = page.named('p').map(attributesOf)
    expect(label).toEqual([
      { class: 'application' },
      { id: 'errorlabel', class: 'errorlabel', role: 'alert' },
      { class: 'password-help' },
    ])
    expect(template).toMatch(/\.errorlabel \{\s+display: none;/)
  })

  test('the default template uses these placeholders', () => {
    expect([...new Set(template.match(/%%[^%]*%%/g))].sort()).toEqual(
      [
        '%%i18n:platform.language%%',
        '%%i18n:platform.logindialog.application%%',
        '%%i18n:platform.logindialog.failed%%',
        '%%i18n:platform.logindialog.forgotpassword%%',
        '%%i18n:platform.logindialog.forgotten%%',
        '%%i18n:platform.logindialog.hide%%',
        '%%i18n:platform.logindialog.label.name%%',
        '%%i18n:platform.logindialog.passkey%%',
        '%%i18n:platform.logindialog.password%%',
        '%%i18n:platform.logindialog.remember%%',
        '%%i18n:platform.logindialog.show%%',
        '%%i18n:platform.logindialog.specify.password%%',
        '%%i18n:platform.logindialog.specify.username%%',
        '%%i18n:platform.logindialog.submit%%',
        '%%i18n:platform.logindialog.title%%',
      ].sort(),
    )
  })

  test('the default template has no nonce, no inline handler, no style attribute and no URL', () => {
    const names = page.attributeNames
    expect(names.filter((name) => name === 'style' || name === 'nonce' || name.startsWith('on'))).toEqual([])
    expect(page.attributes('script', 'src')).toEqual([])
    expect(template).not.toMatch(/url\(|@import|https?:\/\/(?!www\.w3\.org\/2000\/svg)/)
  })

  test('the default template connects every label to its input', () => {
    expect(page.attributes('label', 'for')).toEqual(['username', 'password', 'remember'])
  })

  test('the default template is the same each time and much smaller than the limit for login templates', () => {
    expect(defaultLoginTemplate()).toBe(template)
    expect(Buffer.byteLength(template)).toBeLessThan(16 * 1024)
  })
})

type Element = DefaultTreeAdapterTypes.Element

/** Parses a page as a browser does. */
function read(html: string) {
  const elements = [...elementsOf(parse(html))]
  const named = (tag: string) => elements.filter(({ tagName }) => tagName === tag)
  const texts = elements
    .filter(({ tagName }) => tagName !== 'style')
    .flatMap(({ childNodes }) => childNodes.flatMap((node) => ('value' in node ? [node.value] : [])))
  return {
    html,
    named,
    attributes: (tag: string, name: string) => named(tag).flatMap((element) => attributesOf(element)[name] ?? []),
    attributeNames: elements.flatMap(({ attrs }) => attrs.map(({ name }) => name)),
    /** Every attribute's value and every text. */
    values: [...elements.flatMap(({ attrs }) => attrs.map(({ value }) => value)), ...texts],
    text: texts.join(' '),
    title: named('title').flatMap(({ childNodes }) => childNodes.map((node) => ('value' in node ? node.value : '')))[0],
  }
}

function attributesOf(element: Element): Record<string, string> {
  return Object.fromEntries(element.attrs.map(({ name, value }) => [name, value]))
}

function* elementsOf(node: DefaultTreeAdapterTypes.Node): Generator<Element> {
  if ('tagName' in node) yield node
  if ('childNodes' in node) for (const child of node.childNodes) yield* elementsOf(child)
}

describe('pages: OAuth problem, with details', () => {
  const textOf = (model: Partial<OAuthProblemModel>, locale = 'en') =>
    oauthProblemPage(
      { locale, nonce: 'n' },
      {
        page: 'provider',
        solution: { title: 'CRM' },
        provider: 'Google',
        reference: 'R',
        user: null,
        tryAgainHref: '/',
        otherAccountHref: null,
        ...model,
      },
    ).replaceAll(/<\/?(bdi|span)>/g, '')

  test.each([
    ['provider', null, 'Google sent a response that can’t be used to sign you in.'],
    ['provider', 'unreachable', 'This server got no response from Google.'],
    ['provider', 'down', 'Google reported an internal error'],
    ['configuration', null, 'This server can’t use the sign-in settings for CRM.'],
    ['configuration', 'refused', 'Google did not accept the sign-in request from CRM.'],
    ['configuration', 'address', 'CRM has no sign-in settings for the URL that you opened.'],
    ['expired', null, 'The response doesn’t match a sign-in in progress in this browser.'],
    ['expired', 'unreadable', 'The sign-in service’s response could not be read'],
    ['expired', 'signed-out', 'Google signed you out before you finished signing in.'],
  ] as const)('%s, %s', (page, detail, said) => {
    expect(textOf({ page, detail })).toContain(said)
    for (const locale of PLATFORM_LOCALES) {
      for (const provider of ['Google', null]) {
        expect(textOf({ page, detail, provider }, locale)).not.toMatch(/!platform\.|\{\d\}|undefined|\[object/)
      }
    }
  })

  test('without a provider, the page says “the sign-in service”; the next step depends on the problem', () => {
    const unnamed = textOf({ detail: 'unreachable', provider: null })
    expect(unnamed).toContain('This server got no response from the sign-in service.')
    expect(unnamed).toContain('Please try again in a few minutes.')
    const address = textOf({ page: 'configuration', detail: 'address', provider: null })
    expect(address).toContain('<h1>Can’t sign in at this URL</h1>')
    expect(address).toContain('Check the URL')
  })
})
