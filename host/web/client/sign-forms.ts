/**
 * The form that makes a session of what a login form's script decided; it stands in the page where the client opens
 * without a user.
 */
export function signInForm(token: string): HTMLFormElement | null {
  const form = document.querySelector<HTMLFormElement>('form#client-sign-in')
  const input = form?.querySelector<HTMLInputElement>('input[name=id_token]')
  if (input) input.value = token
  return form
}

/**
 * Signs in by a login token in the address, `index.html#id_token=…`, where no server and no log gets to see it (design
 * section 8); neither address nor history keep it.
 * @returns whether the page is left
 */
export function signInByAddress(): boolean {
  const [, token] = /^#id_token=([\w.-]+)$/.exec(location.hash) ?? []
  const form = token === undefined ? null : signInForm(token)
  if (form === null) return false
  history.replaceState(null, '', location.pathname + location.search)
  form.submit()
  return true
}

/** The form of the bar that signs out; null where nobody is signed in. */
export function signOutForm(token: string): HTMLFormElement | null {
  const form = document.querySelector<HTMLFormElement>('#client-top form.account')
  const after = document.createElement('input')
  after.type = 'hidden'
  after.name = 'after'
  after.value = token
  form?.append(after)
  return form
}
