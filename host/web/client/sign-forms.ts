/**
 * Returns the hidden form that creates a session, filled with the login token. Null if the page does not contain it,
 * because its client opened with a signed-in user.
 */
export function signInForm(token: string): HTMLFormElement | null {
  const form = document.querySelector<HTMLFormElement>('form#client-sign-in')
  const input = form?.querySelector<HTMLInputElement>('input[name=id_token]')
  if (input) input.value = token
  return form
}

/**
 * Signs in with the login token in the URL's fragment, `index.html#id_token=…`. Browsers don't send the fragment, so
 * the token appears in no log. Removes the token from the URL and the history.
 * @returns whether the page navigates away
 */
export function signInByAddress(): boolean {
  const [, token] = /^#id_token=([\w.-]+)$/.exec(location.hash) ?? []
  const form = token === undefined ? null : signInForm(token)
  if (form === null) return false
  history.replaceState(null, '', location.pathname + location.search)
  form.submit()
  return true
}

/** The sign-out form in the bar; null if no user is signed in. */
export function signOutForm(token: string): HTMLFormElement | null {
  const form = document.querySelector<HTMLFormElement>('#client-top form.account')
  const after = document.createElement('input')
  after.type = 'hidden'
  after.name = 'after'
  after.value = token
  form?.append(after)
  return form
}
