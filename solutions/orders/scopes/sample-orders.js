const CUSTOMERS = [
  ['Alder & Finch Joinery', 'orders@alder-finch.example'],
  ['Bakkerij De Halm', 'inkoop@de-halm.example'],
  ['Brightwater Laundries', 'office@brightwater.example'],
  ['Café Zonneschijn', 'hallo@zonneschijn.example'],
  ['Castell Ceramics', 'purchasing@castell.example'],
  ['Dunmore Veterinary Practice', 'desk@dunmore-vets.example'],
  ['Fietsenmakerij Spaak', 'winkel@spaak.example'],
  ['Greyfriars Bookbinding', 'orders@greyfriars.example'],
  ['Hotel Oude Haven', 'beheer@oude-haven.example'],
  ['Kestrel Sailmakers', 'stores@kestrel-sails.example'],
  ['Larkspur Garden Centre', 'buying@larkspur.example'],
  ['Molenaar Installatie', 'administratie@molenaar.example'],
  ['Northfold Dairy', 'accounts@northfold.example'],
  ['Pellworth Primary School', 'office@pellworth.example'],
  ['Tandartsen aan de Vliet', 'balie@aan-de-vliet.example'],
]

const NOTES = ['', 'Deliver in the morning.', '', '', 'Invoice to the head office.', '', 'Call before delivery.']

/**
 * Returns the same 60 orders each time. Their dates span four months. The oldest are shipped; the newest are not
 * approved yet.
 */
function sampleOrders() {
  const first = Date.UTC(2026, 7, 3)
  return Array.from({ length: 60 }, (_, index) => {
    const [customer, mail] = CUSTOMERS[(index * 7) % CUSTOMERS.length]
    return {
      customer,
      mail,
      ordered: new Date(first + index * 44 * 60 * 60 * 1000).toISOString().slice(0, 10),
      amount: (8540 + ((index * index * 131 + index * 407) % 1543) * 865) / 100,
      status: index < 38 ? 'shipped' : index < 48 ? 'approved' : 'new',
      notes: NOTES[index % NOTES.length],
    }
  })
}
