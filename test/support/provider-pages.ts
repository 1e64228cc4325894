/** The pages of the OpenID provider in tests and in the example `many-providers`. They work without JavaScript. */

import { escapeHtml } from '../../base/web/markup.ts'

export type ProviderFrame = { readonly title: string; readonly accent: string }

export type LoginModel = {
  readonly action: string
  readonly client: string
  readonly account: string
  readonly isRefused: boolean
  /** The accounts to list on the login page, for users who try the example. The list may be empty. */
  readonly hints: readonly (readonly [account: string, password: string])[]
}

export type ConsentModel = {
  readonly action: string
  readonly client: string
  readonly account: string
  readonly scopes: readonly string[]
}

const SCOPES: Readonly<Record<string, string>> = {
  openid: 'Know who you are',
  profile: 'See your name',
  email: 'See your email address',
  offline_access: 'Check again later that your account is still there',
}

export function loginPage(frame: ProviderFrame, { action, client, account, isRefused, hints }: LoginModel): string {
  return page(
    frame,
    'Sign in',
    `<p>to go on to <strong><bdi>${escapeHtml(client)}</bdi></strong></p>
    ${isRefused ? '<p class="alert" role="alert">That account and password do not fit. Please try again.</p>' : ''}
    <form method="post" action="${escapeHtml(action)}">
      <label for="account">Account</label>
      <input id="account" name="account" value="${escapeHtml(account)}" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required>
      <button name="answer" value="sign-in">Sign in</button>
      <button name="answer" value="cancel" class="quiet" formnovalidate>Cancel</button>
    </form>
    ${hints.length === 0 ? '' : hintsOf(hints)}`,
  )
}

export function consentPage(frame: ProviderFrame, { action, client, account, scopes }: ConsentModel): string {
  const items = scopes.map((scope) => `<li>${escapeHtml(SCOPES[scope] ?? scope)}</li>`).join('')
  return page(
    frame,
    'Share your account?',
    `<p><strong><bdi>${escapeHtml(client)}</bdi></strong> would like to use your account <bdi>${escapeHtml(account)}</bdi> to:</p>
    <ul>${items}</ul>
    <form method="post" action="${escapeHtml(action)}">
      <button name="answer" value="allow" autofocus>Allow</button>
      <button name="answer" value="deny" class="quiet">Do not allow</button>
    </form>`,
  )
}

/**
 * Renders the sign-out page. `form` is the provider's HTML form with its CSRF token; the form's id is `op.logoutForm`.
 */
export function signOutPage(frame: ProviderFrame, form: string): string {
  return page(
    frame,
    'Sign out here too?',
    `<p>You are still signed in at <strong>${escapeHtml(frame.title)}</strong>. On a shared computer, sign out.</p>
    ${form}
    <div class="buttons">
      <button form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
      <button form="op.logoutForm" class="quiet">Stay signed in</button>
    </div>`,
  )
}

export function messagePage(frame: ProviderFrame, title: string, text: string): string {
  return page(frame, title, `<p>${escapeHtml(text)}</p>`)
}

function hintsOf(hints: LoginModel['hints']): string {
  const rows = hints.map(
    ([account, password]) =>
      `<tr><td><code>${escapeHtml(account)}</code></td><td><code>${escapeHtml(password)}</code></td></tr>`,
  )
  return `<section class="hints" aria-labelledby="hints"><h2 id="hints">Accounts to try</h2>
    <table><thead><tr><th scope="col">Account</th><th scope="col">Password</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

function page({ title: provider, accent }: ProviderFrame, title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${escapeHtml(title)} – ${escapeHtml(provider)}</title>
  <style>${styleOf(accent)}</style>
</head>
<body>
  <main>
    <p class="provider"><span aria-hidden="true">${escapeHtml(provider.slice(0, 1))}</span>${escapeHtml(provider)}</p>
    <h1>${escapeHtml(title)}</h1>
    ${content}
  </main>
</body>
</html>
`
}

function styleOf(accent: string): string {
  return `
    :root { --accent: ${accent}; --text: #1c2430; --soft: #566072; --card: #fff; --page: #eef1f5; --line: #8a94a6; --alert: #b3261e }
    @media (prefers-color-scheme: dark) {
      :root { --text: #eef1f5; --soft: #aab4c4; --card: #1e2530; --page: #12161d; --line: #75809a; --alert: #ffb4ab }
    }
    * { box-sizing: border-box }
    body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--page);
      color: var(--text); font: 1rem/1.5 system-ui, sans-serif }
    main { width: 100%; max-width: 25rem; padding: 2rem; background: var(--card); border-radius: 1rem;
      border-top: .4rem solid var(--accent); box-shadow: 0 .5rem 2rem rgb(0 0 0 / .12); overflow-wrap: anywhere }
    .provider { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.5rem; font-weight: 600 }
    .provider span { display: grid; place-items: center; width: 2rem; height: 2rem; border-radius: .5rem;
      background: var(--accent); color: #fff }
    h1 { margin: 0 0 .25rem; font-size: 1.5rem; line-height: 1.25 }
    h2 { margin: 0 0 .25rem; font-size: 1rem }
    p, ul { margin: 0 0 1rem; color: var(--soft) }
    strong { color: var(--text) }
    ul { padding-left: 1.25rem }
    label { display: block; margin: 0 0 .25rem; font-weight: 600 }
    input { width: 100%; margin: 0 0 1rem; padding: .65rem .75rem; border: 1px solid var(--line); border-radius: .5rem;
      background: transparent; color: inherit; font: inherit }
    button { width: 100%; margin: 0 0 .5rem; padding: .7rem; border: 1px solid var(--accent); border-radius: .5rem;
      background: var(--accent); color: #fff; font: inherit; font-weight: 600; cursor: pointer }
    button.quiet { background: transparent; border-color: transparent; color: inherit }
    :focus-visible { outline: 3px solid var(--text); outline-offset: 2px }
    .alert { padding: .6rem .75rem; border-radius: .5rem; border: 1px solid var(--alert); color: var(--alert) }
    .hints { margin-top: 1.5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .9rem }
    table { width: 100%; border-collapse: collapse }
    th, td { padding: .15rem .75rem .15rem 0; text-align: left; vertical-align: top }
    th { color: var(--soft); font-weight: 400 }
  `
}
