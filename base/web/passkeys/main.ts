import { askPasskey, sendPasskey } from './ask-passkey.ts'

/**
 * Lets users submit forms with a passkey. `data-passkey` contains the options as JSON; `data-use` is `get` to use a
 * passkey, or `create` to create one. In browsers that don't support this, the form stays hidden.
 */
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) {
  if (window.PublicKeyCredential !== undefined) takeOver(form)
}

function takeOver(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>('button[type=button]')
  const said = form.querySelector<HTMLElement>('[data-failed]')
  if (button === null || said === null) return
  form.hidden = false
  button.addEventListener('click', async () => {
    said.textContent = ''
    button.disabled = true
    try {
      sendPasskey(form, await askPasskey(form.dataset.passkey ?? '', form.dataset.use === 'create'))
    } catch (error) {
      const { taken, failed = '' } = said.dataset
      said.textContent = isTaken(error) ? (taken ?? failed) : failed
      button.disabled = false
      button.focus()
    }
  })
}

/**
 * Whether the device already has a passkey for the account (WebAuthn Level 3, 5.1.3). For all other failures, browsers
 * hide the exact reason, and the user may just have cancelled.
 */
function isTaken(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'InvalidStateError'
}
