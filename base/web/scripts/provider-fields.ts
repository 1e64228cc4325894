type SecretHost = { readonly host?: string; readonly setting?: string }

/**
 * Shows how to register at the chosen provider, and enables its fields. The fields of other providers are hidden and
 * not sent. A placeholder shows the value that is used if the field is empty: the manifest's value if the manifest uses
 * this provider, otherwise the provider's default.
 */
export function showProviderFields(form: HTMLFormElement): void {
  const ofManifest = form.dataset.apiOfManifest ?? ''
  const api = String(new FormData(form).get('api') ?? '') || ofManifest
  for (const guide of form.querySelectorAll<HTMLElement>('[data-guide-of]'))
    guide.hidden = guide.dataset.guideOf !== api
  for (const field of form.querySelectorAll<HTMLElement>('[data-providers]')) {
    showProviderField(field, api, api === ofManifest, providerCount(form))
  }
  demandSecret(form, api, api === ofManifest)
  suggestSecretHosts(form, api)
}

function showProviderField(field: HTMLElement, api: string, isOfManifest: boolean, count: number): void {
  const control = field.querySelector<HTMLInputElement | HTMLSelectElement>('input, select')
  if (control === null) return
  const { providers = '', requiredBy = '', defaults = '{}', ofManifest = '' } = field.dataset
  const known = providers.split(' ')
  // Before a provider is chosen, show only the fields that all providers have.
  field.hidden = api === '' ? known.length < count : !known.includes(api)
  control.disabled = field.hidden
  const written = isOfManifest ? ofManifest : ''
  const usual = written || ((JSON.parse(defaults) as Record<string, string>)[api] ?? '')
  control.required = written === '' && requiredBy.split(' ').includes(api)
  if (control instanceof HTMLInputElement) control.placeholder = usual
  else nameUnset(control, usual)
}

/**
 * Requires a secret if the provider needs one, unless the name of a stored secret is in the field beside it or in the
 * manifest.
 */
function demandSecret(form: HTMLFormElement, api: string, isOfManifest: boolean): void {
  const [value, name] = ['value', 'name'].map((part) => form.querySelector<HTMLInputElement>(`#oauth-secret-${part}`))
  if (!value || !name) return
  const isKnown = name.value !== '' || (isOfManifest && value.dataset.inManifest === 'true')
  value.required = !isKnown && (value.dataset.requiredBy ?? '').split(' ').includes(api)
}

function nameUnset(control: HTMLSelectElement, usual: string): void {
  const [unset] = control.options
  if (unset === undefined) return
  unset.dataset.text ??= unset.text
  unset.text = usual === '' ? unset.dataset.text : `${unset.dataset.text} (${usual})`
}

function providerCount(form: HTMLFormElement): number {
  return form.querySelectorAll('input[name=api]:not([value=""]), select[name=api] option:not([value=""])').length
}

/** Suggests the hosts that may receive the secret, unless the user edited the field. */
function suggestSecretHosts(form: HTMLFormElement, api: string): void {
  const field = form.querySelector<HTMLInputElement>('#oauth-secret-hosts')
  if (field === null || field.value !== (field.dataset.suggested ?? '')) return
  const hosts = (JSON.parse(form.dataset.secretHosts ?? '{}') as Record<string, readonly SecretHost[]>)[api] ?? []
  const found = hosts.map((one) => one.host ?? hostIn(form, one.setting ?? '')).find((host) => host !== '') ?? ''
  field.value = found
  field.dataset.suggested = found
}

/** Returns the host with its port, unless the port is 443. The API requires this format. */
function hostIn(form: HTMLFormElement, setting: string): string {
  const control = form.querySelector<HTMLInputElement>(`#oauth-${setting}`)
  const written = control?.value.trim() || control?.placeholder || ''
  if (setting === 'domain') return written
  const address = URL.parse(written)
  if (address === null || !/^https?:$/.test(address.protocol)) return ''
  return address.protocol === 'http:' && address.port === '' ? `${address.hostname}:80` : address.host
}
