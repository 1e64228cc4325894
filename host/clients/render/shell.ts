import { readFileSync } from 'node:fs'
import { createMessages } from '../../../base/bundles/messages.ts'
import { Markup } from '../../../base/web/markup.ts'
import { platformText } from '../../../base/web/texts.ts'
import { CLOSED_WHY } from '../../web/frames.ts'
import { directionOf, known } from './local-format.ts'
import { attributes, html } from './markup.ts'

/** The page of an open client. Its script requests the form over the WebSocket, unless `form` is set. */
export interface ShellModel {
  readonly locale: string
  /** The nonce of the page's Content-Security-Policy. */
  readonly nonce: string
  readonly title: string
  readonly scriptHref: string
  /** Only on a live host: the script that shows the report of `solhost dev`. */
  readonly devScriptHref?: string | null
  /** The URL of the WebSocket, as a path on the same server. */
  readonly socketHref: string
  /** The URL of the solution's `media/style.css`, if it has one. It is loaded after the platform's styles. */
  readonly styleHref: string | null
  /** Null if the solution doesn't require a sign-in, or no user is signed in yet. */
  readonly user: null | {
    readonly username: string
    readonly logoutAction: string
    /** Null if the user has no account that they can manage. */
    readonly accountHref: string | null
    readonly formToken: string
  }
  /**
   * The data that the page posts to its own URL after a script has signed a user in. Only set if the client opens a
   * login form.
   */
  readonly signIn?: { readonly action: string; readonly formToken: string } | null
  /** The form to include in the page, rendered by `renderForm`. */
  readonly form?: string
}

const styles = new Markup(
  [
    new URL('../../../base/web/styles/tokens.css', import.meta.url),
    new URL('../../web/styles/client.css', import.meta.url),
  ]
    .map((file) => readFileSync(file, 'utf8'))
    .join(''),
)

/** Loaded only for pages of `solhost dev`. */
let devStyles: Markup | undefined

function needDevStyles(): Markup {
  devStyles ??= new Markup(readFileSync(new URL('../../web/styles/dev.css', import.meta.url), 'utf8'))
  return devStyles
}

/** Renders the whole page. The elements `client-top` and `client-texts` can be patched when the language changes. */
export function renderShell(model: ShellModel): string {
  const { locale, nonce, title, user, signIn, devScriptHref } = model
  const page = html`<!DOCTYPE html>
<html lang="${known(locale)}" dir="${directionOf(locale)}">
<head>
  <meta charset="UTF-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${title}</title>
  <link rel="icon" href="data:,">
  <style nonce="${nonce}">
${styles}${devScriptHref && needDevStyles()}
  </style>
${model.styleHref !== null && html`  <link rel="stylesheet" href="${model.styleHref}">\n`}</head>
<body>
  <header>
    <div class="progress" id="client-progress" role="progressbar"${attributes({ 'aria-label': platformText(locale, 'platform.client.working') })} hidden></div>
    ${renderTop(locale, title, user)}
  </header>
  <p class="connection" id="client-connection" role="status"></p>
  <main id="client-form"${attributes({ 'data-socket': model.socketHref, 'aria-busy': model.form === undefined && 'true' })}>${model.form === undefined ? renderOpening(locale) : new Markup(model.form)}<noscript><p class="connection">${platformText(locale, 'platform.client.noscript', [title])}</p></noscript></main>
  <div class="messages"><div id="client-messages" role="status"></div><div id="client-alerts" role="alert"></div></div>
  ${signIn && html`<form id="client-sign-in" method="post" action="${signIn.action}" autocomplete="off" hidden><input type="hidden" name="csrf_token" value="${signIn.formToken}"><input type="hidden" name="id_token"></form>`}
  ${renderTexts(locale)}
${devScriptHref && html`  <script nonce="${nonce}" src="${devScriptHref}"></script>\n`}  <script nonce="${nonce}" src="${model.scriptHref}"></script>
</body>
</html>
`
  return page.text
}

/** Renders what the page shows until the first form arrives. */
function renderOpening(locale: string): Markup {
  const bars = Array.from({ length: 7 }, () => html`<span></span>`)
  return html`<div class="opening"><h1 class="hidden">${platformText(locale, 'platform.client.opening')}</h1><div class="bars" aria-hidden="true">${bars}</div></div>`
}

/** The bar above the form. */
export function renderTop(locale: string, title: string, user: ShellModel['user']): Markup {
  const account =
    user !== null &&
    html`<form class="account" method="post" action="${user.logoutAction}"><input type="hidden" name="csrf_token" value="${user.formToken}" autocomplete="off"><span class="user"><span class="hidden">${platformText(locale, 'platform.client.signedin', [user.username])}</span><bdi aria-hidden="true">${user.username}</bdi></span>${user.accountHref !== null && html`<a href="${user.accountHref}">${platformText(locale, 'platform.account.link')}</a>`}<button class="link" type="submit">${platformText(locale, 'platform.client.logout')}</button></form>`
  return html`<div class="top" id="client-top"><span class="solution"><bdi>${title}</bdi></span>${account}</div>`
}

/** Texts that the browser script shows, in the user's language. */
export function renderTexts(locale: string): Markup {
  const text = createMessages({}, locale)
  const closed = CLOSED_WHY.map((why) => [`data-closed-${why}`, text(`platform.client.closed.${why}`)])
  return html`<template id="client-texts"${attributes({
    'data-offline': text('platform.client.offline'),
    'data-online': text('platform.client.online'),
    'data-notnow': text('platform.client.notnow'),
    'data-dismiss': text('platform.client.dismiss'),
    'data-again': text('platform.client.again'),
    'data-reopened': text('platform.client.reopened'),
    'data-unsaved': text('platform.client.unsaved'),
    'data-leave': text('platform.client.leave'),
    'data-stay': text('platform.client.stay'),
    'data-confirm': text('platform.step.title'),
    'data-cancel': text('platform.step.cancel'),
    'data-notconfirmed': text('platform.confirm.failed'),
    'data-goaway': text('platform.client.goaway'),
    'data-working': text('platform.client.working'),
    'data-badnumber': text('platform.form.badnumber'),
    'data-baddate': text('platform.form.baddate'),
    'data-locale': known(locale),
    'data-direction': directionOf(locale),
    ...Object.fromEntries(closed),
  })}></template>`
}
