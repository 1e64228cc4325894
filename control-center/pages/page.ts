import type Router from '@koa/router'
import type { Context } from 'koa'
import { allowPage } from '../../base/http/content-security.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { guidePath } from '../../base/http/guides.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { Brand } from '../../base/web/render-page.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { type Access, callerOf, type Member } from '../access/access.ts'
import { mayDo, type Right } from '../access/roles.ts'
import { CENTER_PARTS, CENTER_TEXTS, type CenterFrame, type CenterPart, centerPage } from '../web/render.ts'
import { CENTER_GUIDES, type CenterTemplate } from './guides.ts'
import { centerScriptPath } from './script.ts'

/** A page: a template in `control-center/web/pages/center/` and its data. */
export type ShownPage = {
  readonly template: CenterTemplate
  readonly heading: string
  readonly model: object
  /** The navigation entry that the page belongs to; null by default. */
  readonly part?: CenterPart | null
  /** The response status; 200 by default. */
  readonly status?: number
  /** The appearance of a solution, if the page is for its users; null by default. */
  readonly brand?: Brand | null
  /** Whether the page embeds another control center page, which the Content-Security-Policy must then allow. */
  readonly frames?: boolean
}

/** A template that is rendered without the surrounding page, and the template's data. */
export type RenderedPart = Pick<ShownPage, 'heading' | 'model'> & { readonly template: string }

/** A text in the reader's language. */
export type PageText = (key: string, ...values: readonly (string | number)[]) => string

/** Adds pages. All of them require a sign-in. */
export interface PageRouter {
  /** A page outside any organisation. */
  get(path: string, show: (ctx: Context, text: PageText) => Promise<ShownPage>): void
  /**
   * A page in an organisation, for members who have the permission.
   * @param path below `/o/:organisation`, in the router's syntax: `/environments/:environment`
   */
  ofOrganisation(
    path: string,
    right: Right,
    show: (ctx: Context, text: PageText, member: Member) => Promise<ShownPage>,
  ): void
}

/**
 * Creates a router for pages. It redirects visitors who are not signed in to the sign-in page, which sends them back
 * afterwards.
 */
export function createPageRouter(router: Router, access: Access): PageRouter {
  function isSignedIn(ctx: Context): boolean {
    requireNavigation(ctx)
    if (callerOf(ctx)?.kind === 'person') return true
    ctx.status = 302
    ctx.set('Location', `/sign-in?to=${encodeURIComponent(`${ctx.path}${ctx.search}`)}`)
    return false
  }

  return {
    get(path, show) {
      router.get(path, async (ctx) => {
        if (isSignedIn(ctx)) sendPage(ctx, await show(ctx, textFor(ctx)), null)
      })
    },
    ofOrganisation(path, right, show) {
      router.get(`/o/:organisation${path}`, async (ctx) => {
        if (!isSignedIn(ctx)) return
        const member = await access.need(ctx, right)
        sendPage(ctx, await show(ctx, textFor(ctx), member), member)
      })
    },
  }
}

export function textFor(ctx: Context): PageText {
  const locale = localeOf(ctx)
  return (key, ...values) => CENTER_TEXTS.text(locale, key, values)
}

/** @param member null if the page is outside any organisation */
export function sendPage(ctx: Context, page: ShownPage, member: Member | null): void {
  const nonce = createNonce()
  allowPage(ctx, nonce, { frames: page.frames === true })
  ctx.vary('Accept-Language')
  sendHtml(ctx, page.status ?? 200, htmlOf(ctx, page, member, nonce))
}

/** Renders a template without the surrounding page, as the response when an open page polls for changes. */
export function renderPart(ctx: Context, { template, heading, model }: RenderedPart): string {
  return centerPage(template, frameOf(ctx, null, ''), heading, model)
}

/** @param member null if the page is outside any organisation */
export function htmlOf(
  ctx: Context,
  { template, heading, model, part, brand }: ShownPage,
  member: Member | null,
  nonce: string,
): string {
  const guide = CENTER_GUIDES[template]
  const frame = {
    ...frameOf(ctx, member, nonce),
    part: part ?? null,
    brand: brand ?? null,
    guide: guide === null ? null : guidePath('', guide),
  }
  return centerPage(template, frame, heading, model)
}

function frameOf(ctx: Context, member: Member | null, nonce: string): CenterFrame {
  const caller = callerOf(ctx)
  const person = caller?.kind === 'person' ? caller : null
  return {
    locale: localeOf(ctx),
    nonce,
    csrfToken: person?.session.csrfToken ?? null,
    part: null,
    script: centerScriptPath,
    guide: null,
    brand: null,
    person: person?.user.username ?? null,
    organisation: member === null ? null : { ...member.organisation, parts: partsFor(member) },
  }
}

function partsFor({ role }: Member): readonly CenterPart[] {
  return (Object.keys(CENTER_PARTS) as CenterPart[]).filter((part) => mayDo(role, CENTER_PARTS[part].right))
}

export function localeOf(ctx: Context): string {
  return chooseLocale(ctx.get('Accept-Language'), PLATFORM_LOCALES)
}
