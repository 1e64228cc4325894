import { expect, test } from 'vitest'
import { PROVIDER_GUIDES } from '../../../base/oauth/provider-guides.ts'
import { PLATFORM_LOCALES, PLATFORM_TEXTS } from '../../../base/web/texts.ts'

const guides = Object.entries(PROVIDER_GUIDES)

test('provider guides: each step has a text in each language, and there are no texts without a step', () => {
  for (const locale of PLATFORM_LOCALES) {
    for (const [api, { steps }] of guides) {
      const numbers = Array.from({ length: 10 }, (_, index) => index + 1)
      const written = numbers.filter((number) => PLATFORM_TEXTS.has(locale, `admin.oauth.guide.${api}.${number}`))
      expect([locale, api, written.length]).toEqual([locale, api, steps.length])
    }
  }
})

test('provider guides: each guide says once where to enter the redirect URI, and introduces each URL', () => {
  for (const [api, { steps }] of guides) {
    expect([api, steps.filter((address) => address === 'redirect').length]).toEqual([api, 1])
    for (const locale of PLATFORM_LOCALES) {
      const texts = steps.map((_, index) => PLATFORM_TEXTS.text(locale, `admin.oauth.guide.${api}.${index + 1}`, []))
      expect([locale, api, texts.map((text) => text.endsWith(':'))]).toEqual([
        locale,
        api,
        steps.map((address) => address !== null),
      ])
    }
  }
})

test('provider guides: links to provider consoles use https', () => {
  const hrefs = guides.flatMap(([, { console }]) => (console === null ? [] : [console.href]))
  expect(hrefs.filter((href) => !href.startsWith('https://'))).toEqual([])
  expect(hrefs).toHaveLength(6)
})
