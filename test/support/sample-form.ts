import type { ElementDefinition, FormDefinition, TableRow } from '../../runtime/forms/form-definition.ts'

const shown = { visible: true, enabled: true }
const input = { ...shown, required: false }

/** 45 orders, which fill three pages of a table. */
export const ORDERS: readonly TableRow[] = Array.from({ length: 45 }, (_, index) => ({
  id: index + 1,
  customer: ['Acme', 'Börsig & Söhne', 'Café de Paris', 'Zürich Tools', 'Álamo'][index % 5] as string,
  ordered: `2026-0${(index % 9) + 1}-1${index % 10}`,
  total: 1234.5 + index * 10,
  paid: index % 3 === 0,
}))

/** Form elements by name: one of every type. */
export const EVERY_ELEMENT: readonly ElementDefinition[] = [
  { ...shown, type: 'label', name: 'intro', label: 'Fields with a star must be filled in.' },
  { ...shown, type: 'heading', name: 'customerHeading', label: 'Customer', level: 2 },
  {
    ...input,
    type: 'text',
    name: 'customer',
    label: 'Name',
    required: true,
    maxLength: 1000,
    value: 'Acme',
    hint: 'As on the invoice.',
    onElementDataChange: 'a',
    onElementFocusGained: 'b',
    onElementFocusLost: 'c',
  },
  { ...input, type: 'email', name: 'mail', label: 'Email', maxLength: 1000, placeholder: 'name@example.org' },
  { ...input, type: 'password', name: 'pin', label: 'PIN', maxLength: 100 },
  {
    ...input,
    type: 'textarea',
    name: 'notes',
    label: 'Notes',
    maxLength: 10_000,
    rows: 3,
    value: 'Deliver at the back door.',
  },
  {
    ...input,
    type: 'number',
    name: 'amount',
    label: 'Amount',
    decimals: 2,
    currency: 'EUR',
    min: 0,
    max: 99_999,
    value: 12.5,
  },
  { ...input, type: 'date', name: 'due', label: 'Due', value: '2026-05-17' },
  { ...input, type: 'checkbox', name: 'express', label: 'Express delivery', value: false },
  {
    ...input,
    type: 'select',
    name: 'country',
    label: 'Country',
    options: [
      { value: 'be', label: 'Belgium' },
      { value: 'de', label: 'Germany' },
      { value: 'nl', label: 'Netherlands' },
    ],
    value: 'be',
  },
  {
    ...input,
    type: 'radio',
    name: 'priority',
    label: 'Priority',
    options: [
      { value: 1, label: 'High' },
      { value: 2, label: 'Normal' },
      { value: 3, label: 'Low' },
    ],
    value: 2,
  },
  { ...shown, type: 'button', name: 'save', label: 'Save', kind: 'primary', onAction: 'save' },
  { ...shown, type: 'button', name: 'cancel', label: 'Cancel', kind: 'secondary', onAction: 'cancel' },
  { ...shown, type: 'button', name: 'remove', label: 'Delete order', kind: 'danger', onAction: 'remove' },
  { ...shown, type: 'link', name: 'manual', label: 'Manual', href: 'https://example.org/manual' },
  { ...shown, type: 'link', name: 'more', label: 'Show more', onAction: 'more' },
  { ...shown, type: 'image', name: 'logo', label: 'Our logo', src: 'logo.png', alt: 'A blue square' },
  {
    ...shown,
    type: 'table',
    name: 'orders',
    label: 'Orders',
    columns: [
      { name: 'customer', label: 'Customer', type: 'text', sortable: true },
      { name: 'ordered', label: 'Ordered', type: 'date', sortable: true },
      { name: 'total', label: 'Total', type: 'number', currency: 'EUR', sortable: true },
      { name: 'paid', label: 'Paid', type: 'boolean', sortable: false },
    ],
    pageSize: 20,
    selection: 'multiple',
    value: ORDERS,
    onAction: 'open',
    onRecordSelection: 'select',
    onSort: 'sort',
  },
]

const named = (name: string) => EVERY_ELEMENT.find((element) => element.name === name) as ElementDefinition

/** A form with one element of every type, in a typical layout. */
export const SAMPLE_FORM: FormDefinition = {
  title: 'Order 4711',
  layout: [
    { columns: [{ elements: [named('intro')] }] },
    {
      columns: [
        {
          width: 8,
          elements: [
            {
              ...shown,
              type: 'panel',
              name: 'customerPanel',
              label: 'Order',
              layout: [
                { columns: [{ elements: [named('customer')] }, { elements: [named('mail')] }] },
                {
                  columns: [
                    { elements: [named('amount')] },
                    { elements: [named('due')] },
                    { elements: [named('country')] },
                  ],
                },
                { columns: [{ elements: [named('notes')] }] },
                { columns: [{ elements: [named('express')] }, { elements: [named('pin')] }] },
              ],
            },
          ],
        },
        {
          width: 4,
          elements: [named('customerHeading'), named('priority'), named('logo'), named('manual'), named('more')],
        },
      ],
    },
    { columns: [{ elements: [named('save'), named('cancel'), named('remove')] }] },
    {
      columns: [
        {
          elements: [
            {
              ...shown,
              type: 'tabs',
              name: 'details',
              label: 'Details',
              value: 'list',
              tabs: [
                { name: 'list', label: 'List', layout: [{ columns: [{ elements: [named('orders')] }] }] },
                {
                  name: 'history',
                  label: 'History',
                  layout: [
                    {
                      columns: [
                        { elements: [{ ...input, type: 'text', name: 'remark', label: 'Remark', maxLength: 100 }] },
                      ],
                    },
                  ],
                },
                {
                  name: 'secret',
                  label: 'Costs',
                  permission: 'Managers',
                  layout: [
                    {
                      columns: [
                        { elements: [{ ...shown, type: 'label', name: 'cost', label: 'Purchase price 7.10' }] },
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  ],
}
