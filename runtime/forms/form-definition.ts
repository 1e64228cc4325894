import type { FORM_EVENTS } from '../bundle/manifest.ts'

// A form as it is stored, rendered and run: the author's definition with the defaults filled in. Omitted values without
// a default are absent. The schema that checks what an author writes also accepts the result (form-schema.ts).

/** Maximum number of elements in one form, including those in panels and tabs. */
export const MAX_ELEMENTS = 1000
/** Maximum number of columns in one form, over all its rows. Chosen here: two for each element. */
export const MAX_COLUMNS = 2000
/** Maximum nesting depth of panels and tabs. */
export const MAX_NESTING = 6
export const MAX_ROWS = 200
/** The width of a row, in columns of width 1. */
export const ROW_WIDTH = 12
export const MAX_OPTIONS = 1000
export const MAX_TABS = 50
export const MAX_TABLE_COLUMNS = 50
export const MAX_TABLE_ROWS = 10_000
export const MAX_BADGES = 50
/** Maximum number of options, table columns, badges and table rows together, over all elements of one form. */
export const MAX_ITEMS = 20_000

/** Names of functions in the form's script, by event, such as `onShow`. */
export type Handlers<Event extends (typeof FORM_EVENTS)[number]> = { readonly [E in Event]?: string | undefined }

/** The events of a form itself. The types of its elements list the elements' events. */
export const FORM_HANDLERS = ['onLoad', 'onShow', 'onBeforeHide', 'onHide', 'onUnload', 'onResize'] as const

export type FormDefinition = Handlers<(typeof FORM_HANDLERS)[number]> & {
  readonly $schema?: string | undefined
  /** A text, or `i18n:` followed by a key. */
  readonly title?: string | undefined
  /** The permission that users need; users without it don't get the form at all. */
  readonly permission?: string | undefined
  /** The name of the button that saves the user's input. */
  readonly saves?: string | undefined
  readonly layout: Layout
}

export type Layout = readonly Row[]
export type Row = { readonly columns: readonly Column[] }
export type Column = {
  /** The width in twelfths of the row. Columns without a width share the rest of the row. */
  readonly width?: number | undefined
  readonly elements: readonly ElementDefinition[]
}

type AnyElement<Type extends string> = {
  readonly type: Type
  /** An identifier, unique in the form among elements and tabs. */
  readonly name: string
  /**
   * A text, or `i18n:` and a key. The same applies to `hint`, `placeholder`, `alt` and the labels of options, columns
   * and tabs.
   */
  readonly label?: string | undefined
  readonly visible: boolean
  readonly enabled: boolean
  /** The permission that users need; for users without it, the element is absent. */
  readonly permission?: string | undefined
  readonly hint?: string | undefined
}

type AnyInput<Type extends string> = AnyElement<Type> &
  Handlers<'onElementDataChange' | 'onElementFocusGained' | 'onElementFocusLost'> & { readonly required: boolean }

type AnyText<Type extends string> = AnyInput<Type> & {
  readonly placeholder?: string | undefined
  /** In UTF-16 units, the unit that browsers use for this limit. */
  readonly maxLength: number
  readonly autocomplete?: string | undefined
}

type NumberFormat = {
  /** The number of digits after the decimal separator. */
  readonly decimals?: number | undefined
  /** The currency's ISO 4217 code, such as `EUR`. */
  readonly currency?: string | undefined
}

export type LabelElement = AnyElement<'label'>
export type HeadingElement = AnyElement<'heading'> & { readonly level: 2 | 3 | 4 }
export type ButtonElement = AnyElement<'button'> &
  Handlers<'onAction'> & {
    /**
     * `primary`: pressing Enter presses the button, and the button does nothing until required inputs are filled in.
     */
    readonly kind: ButtonStyle
    /** The style, if it differs from the kind. */
    readonly style?: ButtonStyle | undefined
    /** The reason why users must confirm their identity before the function runs: a text, or `i18n:` and a key. */
    readonly confirm?: string | undefined
  }
export type ButtonStyle = 'primary' | 'secondary' | 'danger'
/** A link has `href` or `onAction`, never both. */
export type LinkElement = AnyElement<'link'> & Handlers<'onAction'> & { readonly href?: string | undefined }
export type ImageElement = AnyElement<'image'> & {
  /** The path of the image in `media/`. */
  readonly src: string
  /** The alternative text; empty for a decorative image. */
  readonly alt: string
}
export type TextElement = AnyText<'text'> & { readonly value?: string | undefined }
/** A password input has no `value`, because form files can't contain a password. */
export type PasswordElement = AnyText<'password'>
export type EmailElement = AnyText<'email'> & { readonly value?: string | undefined }
export type TextareaElement = AnyText<'textarea'> & { readonly value?: string | undefined; readonly rows: number }
export type NumberElement = AnyInput<'number'> &
  NumberFormat & {
    readonly min?: number | undefined
    readonly max?: number | undefined
    readonly step?: number | undefined
    /** Whether digits are grouped while the user does not edit them. Default: true if the field has a currency. */
    readonly grouping?: boolean | undefined
    readonly placeholder?: string | undefined
    readonly value?: number | undefined
  }
/** A date input. Dates have the format `YYYY-MM-DD`. */
export type DateElement = AnyInput<'date'> & {
  readonly min?: string | undefined
  readonly max?: string | undefined
  readonly value?: string | undefined
}
export type CheckboxElement = AnyInput<'checkbox'> & { readonly value: boolean }
/** The options' values are unique as strings: `1` and `"1"` are equal. */
export type Option = { readonly value: string | number; readonly label: string }
export type SelectElement = AnyInput<'select'> & {
  readonly options: readonly Option[]
  /** The text shown while nothing is selected. */
  readonly placeholder?: string | undefined
  readonly value?: string | number | undefined
}
export type RadioElement = AnyInput<'radio'> & {
  readonly options: readonly Option[]
  readonly value?: string | number | undefined
}

export type TableColumn = NumberFormat & {
  /** An identifier that is unique in the table. The column's cells use it as their key. */
  readonly name: string
  readonly label?: string | undefined
  readonly type: 'text' | 'number' | 'date' | 'boolean'
  readonly sortable: boolean
  /** For columns of type `text`: cells with these values are shown as badges, and sorted in this order. */
  readonly badges?: readonly Badge[] | undefined
  /** In narrow windows: which line of the row shows the cell. The column's label is not shown there. */
  readonly line?: 1 | 2 | undefined
}
export const BADGE_TONES = ['neutral', 'info', 'success', 'warning', 'error'] as const
/** Cells with this value are shown as a badge. The values are unique in the column. */
export type Badge = { readonly value: string; readonly label: string; readonly tone: (typeof BADGE_TONES)[number] }
export type Cell = string | number | boolean | null
/** Keys are `id` and names of columns; cells are optional. */
export type TableRow = { readonly id: string | number; readonly [column: string]: Cell }
export type TableElement = AnyElement<'table'> &
  Handlers<'onAction' | 'onRecordSelection' | 'onSort'> & {
    readonly columns: readonly TableColumn[]
    readonly pageSize: number
    readonly selection: 'none' | 'single' | 'multiple'
    /** The table's rows. Their ids are unique as strings. */
    readonly value: readonly TableRow[]
  }

export type PanelElement = AnyElement<'panel'> & { readonly layout: Layout }
export type Tab = {
  /** An identifier, unique in the form among elements and tabs. */
  readonly name: string
  readonly label: string
  readonly permission?: string | undefined
  readonly layout: Layout
}
export type TabsElement = AnyElement<'tabs'> & {
  readonly tabs: readonly Tab[]
  /** The name of the open tab. */
  readonly value: string
}

export type ElementDefinition =
  | LabelElement
  | HeadingElement
  | ButtonElement
  | LinkElement
  | ImageElement
  | TextElement
  | PasswordElement
  | EmailElement
  | TextareaElement
  | NumberElement
  | DateElement
  | CheckboxElement
  | SelectElement
  | RadioElement
  | TableElement
  | PanelElement
  | TabsElement

export type ElementType = ElementDefinition['type']

/** Returns a layout's elements in file order, including those in panels and tabs. Each panel is before its content. */
export function* elementsOf(layout: Layout): Generator<ElementDefinition> {
  for (const { columns } of layout) {
    for (const { elements } of columns) {
      for (const element of elements) {
        yield element
        if (element.type === 'panel') yield* elementsOf(element.layout)
        if (element.type === 'tabs') for (const tab of element.tabs) yield* elementsOf(tab.layout)
      }
    }
  }
}
