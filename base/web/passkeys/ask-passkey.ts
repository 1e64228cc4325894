/**
 * Asks the browser for a passkey. Chosen here: our own conversion of the JSON, because browsers from before 2025 don't
 * have `parseRequestOptionsFromJSON`.
 * @param json the options for `navigator.credentials`, with binary values in base64url
 * @returns the browser's response as JSON
 * @throws the browser's DOMException, for example if the user cancels
 */
export async function askPasskey(json: string, creates: boolean, more: CredentialRequestOptions = {}): Promise<string> {
  const options = JSON.parse(json)
  options.challenge = toBytes(options.challenge)
  for (const list of [options.allowCredentials, options.excludeCredentials]) {
    for (const one of list ?? []) one.id = toBytes(one.id)
  }
  if (creates) options.user.id = toBytes(options.user.id)
  const { credentials } = navigator
  const found = creates
    ? await credentials.create({ publicKey: options })
    : await credentials.get({ ...more, publicKey: options })
  return JSON.stringify(answerOf(found as PublicKeyCredential))
}

function answerOf({ id, rawId, type, response }: PublicKeyCredential): object {
  const common = { id, rawId: toText(rawId), type, clientExtensionResults: {} }
  const clientDataJSON = toText(response.clientDataJSON)
  if (response instanceof AuthenticatorAttestationResponse) {
    const transports = response.getTransports?.() ?? []
    return {
      ...common,
      response: { clientDataJSON, attestationObject: toText(response.attestationObject), transports },
    }
  }
  const { authenticatorData, signature, userHandle } = response as AuthenticatorAssertionResponse
  const values = { clientDataJSON, authenticatorData: toText(authenticatorData), signature: toText(signature) }
  // Older security keys send an empty user handle.
  const handle = userHandle === null || userHandle.byteLength === 0 ? {} : { userHandle: toText(userHandle) }
  return { ...common, response: { ...values, ...handle } }
}

/**
 * Submits the form with the passkey response. Calls the prototype's method, because a button named `submit` would
 * shadow the form's own.
 */
export function sendPasskey(form: HTMLFormElement, answer: string): void {
  const field = document.createElement('input')
  field.type = 'hidden'
  field.name = 'passkey'
  field.value = answer
  form.append(field)
  HTMLFormElement.prototype.submit.call(form)
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, (one) => one.charCodeAt(0))
}

function toText(bytes: ArrayBuffer): string {
  const plain = String.fromCharCode(...new Uint8Array(bytes))
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
