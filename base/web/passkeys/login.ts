import { askPasskey, sendPasskey } from './ask-passkey.ts'

/** The options for `navigator.credentials.get`, as JSON. */
const options = document.currentScript?.dataset.passkey
addEventListener('DOMContentLoaded', () => offerPasskeys(options ?? ''))

/**
 * Offers passkeys on a login page: in the browser's suggestions for the username, and with the page's button `passkey`.
 * A solution's author may have written the page, so any of its elements can be missing.
 */
function offerPasskeys(json: string): void {
  const form = document.forms.namedItem('login_form')
  const button = document.getElementById('passkey')
  const works = json !== '' && form !== null && window.PublicKeyCredential !== undefined
  if (button !== null) button.hidden = !works
  if (!works) return

  let waiting: AbortController | null = null
  async function ask(more: CredentialRequestOptions): Promise<void> {
    // The browser handles only one passkey request at a time.
    waiting?.abort()
    waiting = new AbortController()
    try {
      const answer = await askPasskey(json, false, { ...more, signal: waiting.signal })
      if (form !== null) sendPasskey(form, answer)
    } catch {
      // The user cancelled, or chose to enter a password.
    }
  }

  button?.addEventListener('click', () => ask({}))
  const username = form.elements.namedItem('username')
  if (!(username instanceof HTMLInputElement)) return
  username.setAttribute('autocomplete', `${username.getAttribute('autocomplete') || 'username'} webauthn`)
  PublicKeyCredential.isConditionalMediationAvailable?.().then((isAvailable) => {
    if (isAvailable) return ask({ mediation: 'conditional' })
  })
}
