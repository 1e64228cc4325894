import type { Session } from '../../../base/accounts/sessions.ts'
import type { Markup } from '../../../base/web/markup.ts'
import { formatsOf, ownText, type RenderContext } from './context.ts'
import type { RenderedForm } from './form.ts'
import { directionOf, known, languageName, localTime } from './local-format.ts'
import { attributes, html } from './markup.ts'

/** The session data that a solution without forms shows. */
export type ShownUser = Pick<Session, 'username' | 'uid' | 'permissions' | 'tenant' | 'loggedInAt'>

/** The page content of a solution without forms. It shows only the signed-in user's session. */
export function renderNoForm(title: string, user: ShownUser | null, context: RenderContext): RenderedForm {
  const text = (key: string, ...values: string[]) => ownText(context, key, values)
  if (user === null) return page(title, html`<p class="text">${text('platform.client.open')}</p>`, context)
  const facts: [string, Markup][] = [
    ['platform.client.username', html`<bdi>${user.username}</bdi>`],
    ['platform.client.uid', html`<code>${user.uid}</code>`],
    ['platform.client.permissions', values(user.permissions, text('platform.client.nopermissions'))],
    ['platform.client.tenant', values(user.tenant ?? [], text('platform.client.notenant'))],
    ['platform.client.locale', html`${languageName(context.locale, context.locale)} <code>${context.locale}</code>`],
    [
      'platform.client.loggedinat',
      html`<time datetime="${new Date(user.loggedInAt).toISOString()}">${localTime(formatsOf(context), user.loggedInAt)}</time>`,
    ],
  ]
  const list = facts.map(([key, value]) => html`<div><dt>${text(key)}</dt><dd>${value}</dd></div>`)
  return page(
    title,
    html`<p class="text">${text('platform.client.signedin', user.username)}</p><h2>${text('platform.client.account')}</h2><dl class="facts">${list}</dl>`,
    context,
  )
}

/** A notice in place of a form, for example if the user lacks the permission for it. */
export function renderNotice(title: string, notice: string, context: RenderContext): RenderedForm {
  return page(title, html`<p class="text">${notice}</p>`, context)
}

function page(title: string, content: Markup, context: RenderContext): RenderedForm {
  const own = attributes({ lang: known(context.locale), dir: directionOf(context.locale) })
  const form = html`<form class="form" method="dialog" id="f-" data-form="" aria-labelledby="f-.title"${own}><h1 id="f-.title" tabindex="-1"><bdi>${title}</bdi></h1>${content}</form>`
  return { html: form.text, title }
}

function values(all: readonly (string | number)[], none: string): Markup {
  if (all.length === 0) return html`${none}`
  return html`${all.map((value, index) => html`${index > 0 && ', '}<bdi>${String(value)}</bdi>`)}`
}
