import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import { z } from '../../runtime/zod.ts'
import type { Member } from '../access/access.ts'
import { placeOf } from '../access/of-solution.ts'
import { type MemberRoute, route } from '../access/route.ts'
import { Design } from './design.ts'
import type { LoginPages } from './login-pages.ts'
import { compileDesign } from './template.ts'

export type LoginPageApiParts = { readonly loginPages: LoginPages }

const NewLoginPage = z
  .strictObject({
    design: Design,
    base: z
      .int()
      .min(0)
      .optional()
      .describe('the version that the design is based on; the request is rejected if there is a newer one'),
  })
  .meta({ id: 'NewLoginPage' })

const LoginPageDraft = z.strictObject({ design: Design }).meta({ id: 'LoginPageDraft' })

const VersionNumber = z.coerce.number().int().min(1).max(2_147_483_647)

const LoginPageVersion = z
  .object({ number: z.int(), publishedAt: z.int(), publishedBy: z.string() })
  .meta({ id: 'LoginPageVersion' })

const LoginPage = z
  .object({
    number: z.int().describe('number of the published version; 0 if no design has been published yet'),
    design: Design,
    history: z.array(LoginPageVersion).describe('the last ten versions, newest first'),
  })
  .meta({ id: 'LoginPage' })

export function loginPageRoutes({ loginPages }: LoginPageApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/solutions/:solution/login-page',
      { summary: 'Get a solution’s login page, with an ETag', right: 'login-pages', answers: { 200: LoginPage } },
      async (asked) => {
        const place = placeOf(asked)
        const { number, design } = await loginPages.published(place)
        asked.ctx.etag = String(number)
        return { number, design, history: await loginPages.history(place) }
      },
    ),
    route(
      'PUT /organisations/:organisation/solutions/:solution/login-page',
      {
        summary: 'Publish a design as a new version',
        right: 'login-pages',
        act: 'login-page-publish',
        before: placeOf,
        body: NewLoginPage,
        answers: { 201: LoginPageVersion },
      },
      async (asked) => {
        const { who, body, names, found: place } = asked
        names.target = place.solution
        compileDesign(body.design, LONGEST_FORGOT)
        const published = await loginPages.publish(place, body.design, who.name, body.base)
        names.target = `${place.solution} ${published.number}`
        await loginPages.dropDraft(place, personOf(who))
        return published
      },
    ),
    route(
      'PUT /organisations/:organisation/solutions/:solution/login-page/draft',
      {
        summary: 'Save a draft for the preview',
        right: 'login-pages',
        before: placeOf,
        body: LoginPageDraft,
        answers: DONE,
      },
      async (asked) => {
        const { design } = asked.body
        compileDesign(design, LONGEST_FORGOT)
        await loginPages.keepDraft(asked.found, personOf(asked.who), design)
      },
    ),
    route(
      'DELETE /organisations/:organisation/solutions/:solution/login-page/draft',
      { summary: 'Discard the draft', right: 'login-pages', answers: DONE },
      (asked) => loginPages.dropDraft(placeOf(asked), personOf(asked.who)),
    ),
    route(
      'GET /organisations/:organisation/solutions/:solution/login-page/versions/:number',
      { summary: 'Get a version’s design', right: 'login-pages', answers: { 200: Design } },
      (asked) => loginPages.version(placeOf(asked), readWith(VersionNumber, asked.params.number)),
    ),
    route(
      'POST /organisations/:organisation/solutions/:solution/login-page/versions/:number/use',
      {
        summary: 'Publish an earlier version’s design again, as a new version',
        right: 'login-pages',
        act: 'login-page-use-again',
        before: placeOf,
        answers: { 201: LoginPageVersion },
      },
      async (asked) => {
        const { who, params, names, found: place } = asked
        const number = readWith(VersionNumber, params.number)
        names.target = `${place.solution} ${number}`
        const published = await loginPages.publish(place, await loginPages.version(place, number), who.name)
        await loginPages.dropDraft(place, personOf(who))
        return published
      },
    ),
  ]
}

/** Identifies the user or API token that a draft is stored for. */
export function personOf({ uid, name }: Pick<Member, 'uid' | 'name'>): string {
  return uid ?? name
}

/**
 * The longest possible reset URL. A design that passes the check with this URL is valid for any control center origin.
 */
const LONGEST_FORGOT = `https://${'x'.repeat(255)}/forgot-password/${'x'.repeat(63)}/${'x'.repeat(63)}?key=${'x'.repeat(43)}`
