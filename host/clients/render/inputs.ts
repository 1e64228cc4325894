import type { Markup } from '../../../base/web/markup.ts'
import type {
  CheckboxElement,
  DateElement,
  EmailElement,
  NumberElement,
  Option,
  PasswordElement,
  RadioElement,
  SelectElement,
  TextareaElement,
  TextElement,
} from '../../../runtime/forms/form-definition.ts'
import { groupedNumber } from '../../web/grouped-number.ts'
import { formatsOf, ownText, shownText } from './context.ts'
import { currencySign, known } from './local-format.ts'
import { attributes, html } from './markup.ts'
import {
  control,
  described,
  type InputDefinition,
  isRequired,
  labelOf,
  notes,
  requiredMark,
  type Shown,
  testName,
} from './parts.ts'

export function renderTextInput(shown: Shown<TextElement | EmailElement>): Markup {
  return field(shown, html`<input${lineAttributes(shown)}${attributes({ value: textValue(shown), dir: 'auto' })}>`)
}

/**
 * The page never contains a password, only whether one is set. If one is set, the browser leaves the input unchanged.
 * Otherwise, it clears the input.
 */
export function renderPassword(shown: Shown<PasswordElement>): Markup {
  const isKept = textValue(shown) !== ''
  return field(shown, html`<input${lineAttributes(shown)}${attributes({ 'data-kept': isKept })}>`)
}

export function renderTextarea(shown: Shown<TextareaElement>): Markup {
  const { element } = shown
  // HTML parsers ignore a line break directly after the opening tag. Add one, so that a line break in the value is
  // preserved.
  return field(
    shown,
    html`<textarea${inputAttributes(shown)}${lineLimits(shown)} rows="${element.rows}" dir="auto">\n${textValue(shown)}</textarea>`,
  )
}

export function renderNumber(shown: Shown<NumberElement>): Markup {
  const { element, context, id } = shown
  const value = currentValue(shown)
  const input = html`<input type="number" inputmode="${element.decimals === 0 ? 'numeric' : 'decimal'}"${inputAttributes(shown, element.currency !== undefined && `${id}.unit`)}${attributes(
    {
      min: element.min,
      max: element.max,
      step:
        element.step ?? (element.decimals === undefined ? 'any' : (10 ** -element.decimals).toFixed(element.decimals)),
      placeholder: placeholderOf(shown),
      value: typeof value === 'number' && Number.isFinite(value) ? enteredNumber(value, element.decimals) : null,
    },
  )}>`
  const box = grouped(shown, input)
  if (element.currency === undefined) return field(shown, box)
  return field(
    shown,
    html`<div class="with-unit"><span class="unit" id="${id}.unit">${currencySign(formatsOf(context), element.currency)}</span>${box}</div>`,
  )
}

/**
 * Shows the number with grouped digits over the input while the user is not editing it. Chosen here: only amounts are
 * grouped by default, because years and house numbers are written without grouping.
 */
function grouped(shown: Shown<NumberElement>, input: Markup): Markup {
  const { element, context } = shown
  const { currency, decimals, grouping = currency !== undefined } = element
  if (!grouping) return input
  const value = currentValue(shown)
  const locale = known(formatsOf(context))
  const text = typeof value === 'number' ? groupedNumber(enteredNumber(value, decimals), locale, decimals) : ''
  return html`<div class="grouped"${attributes({ 'data-locale': locale, 'data-decimals': decimals })}>${input}<span class="cover" aria-hidden="true">${text}</span></div>`
}

export function renderDate(shown: Shown<DateElement>): Markup {
  const { min, max } = shown.element
  return field(
    shown,
    html`<input type="date"${inputAttributes(shown)}${attributes({ min, max, value: textValue(shown) || null })}>`,
  )
}

export function renderCheckbox(shown: Shown<CheckboxElement>): Markup {
  const { id } = shown
  return html`<div class="check"><input type="checkbox"${inputAttributes(shown)}${attributes({ checked: currentValue(shown) === true })}><label for="${id}.input"><bdi>${labelOf(shown)}</bdi>${requiredMark(shown)}</label></div>${notes(shown)}`
}

export function renderSelect(shown: Shown<SelectElement>): Markup {
  const { context } = shown
  const chosen = chosenOption(shown)
  // A required select keeps the empty option. Without it, the browser would show the first option as if it were
  // selected.
  const empty =
    placeholderOf(shown) ?? (isRequired(shown) || chosen === null ? ownText(context, 'platform.form.choose') : '')
  return field(
    shown,
    html`<select${inputAttributes(shown)}><option value=""${attributes({ selected: chosen === null })}>${empty}</option>${optionsOf(
      shown,
    ).map(
      (option) =>
        html`<option value="${String(option.value)}"${attributes({ selected: option === chosen })}>${shownText(context, option.label)}</option>`,
    )}</select>`,
  )
}

export function renderRadio(shown: Shown<RadioElement>): Markup {
  const { id, context, element } = shown
  const chosen = chosenOption(shown)
  const choices = optionsOf(shown).map((option, index) => {
    const optionId = `${id}.option.${index}`
    const checked = option === chosen
    return html`<div class="check"><input type="radio" id="${optionId}" name="${id}" value="${String(option.value)}"${control(shown)}${attributes({ checked, required: isRequired(shown) })}><label for="${optionId}"><bdi>${shownText(context, option.label)}</bdi></label></div>`
  })
  return html`<fieldset class="choices" role="radiogroup" id="${id}.input"${described(shown)}${attributes({ 'data-cy': testName(shown), 'aria-required': isRequired(shown) && 'true', 'data-control': element.name })}><legend><bdi>${labelOf(shown)}</bdi>${requiredMark(shown)}</legend>${choices}</fieldset>${notes(shown)}`
}

/** The current options. Values are compared as strings, since browsers send strings. */
export function optionsOf({ element, state }: Shown<SelectElement | RadioElement>): readonly Option[] {
  return state.options ?? element.options
}

function chosenOption(shown: Shown<SelectElement | RadioElement>): Option | null {
  const value = currentValue(shown)
  if (value === null || value === undefined || value === '') return null
  return optionsOf(shown).find((option) => String(option.value) === String(value)) ?? null
}

function field(shown: Shown<InputDefinition>, input: Markup): Markup {
  return html`<label for="${shown.id}.input"><bdi>${labelOf(shown)}</bdi>${requiredMark(shown)}</label>${input}${notes(shown)}`
}

function inputAttributes(shown: Shown<InputDefinition>, further: string | false = false): Markup {
  const { id } = shown
  return html`${attributes({ id: `${id}.input`, 'data-cy': testName(shown), required: isRequired(shown) })}${control(shown)}${described(shown, further)}`
}

function lineAttributes(shown: Shown<TextElement | EmailElement | PasswordElement>): Markup {
  return html`${attributes({ type: shown.element.type })}${inputAttributes(shown)}${lineLimits(shown)}`
}

function lineLimits(shown: Shown<TextElement | EmailElement | PasswordElement | TextareaElement>): Markup {
  const { maxLength, autocomplete } = shown.element
  return attributes({ maxlength: maxLength, autocomplete: autocomplete ?? 'off', placeholder: placeholderOf(shown) })
}

function placeholderOf({ element, state, context }: Shown<InputDefinition>): string | null {
  const own = 'placeholder' in element ? element.placeholder : undefined
  return shownText(context, state.placeholder ?? own) || null
}

function currentValue({ element, state }: Shown<InputDefinition>): unknown {
  if (state.value !== undefined) return state.value
  return 'value' in element ? element.value : undefined
}

function textValue(shown: Shown<InputDefinition>): string {
  const value = currentValue(shown)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Adds trailing zeros: with two decimals, 3770.3 becomes '3770.30'. A value with more decimals stays unchanged. */
function enteredNumber(value: number, decimals: number | undefined): string {
  const padded = decimals === undefined ? '' : value.toFixed(decimals)
  return padded !== '' && Number(padded) === value ? padded : String(value)
}
