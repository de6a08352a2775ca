"""Word lists and sentence frames of synthetic chats; within a list, commonest first.

Verbs are regular and nouns countable, so that a rule can inflect them. No word stands twice.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


WEEKDAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _words(
    "January February March April May June July August September October November December"
)

NAMES = _words(
    """
Anna Daniel Maria Thomas Laura Peter Nina Martin Julia Omar Sofia Lukas Amira David Ingrid Paul
Clara Samuel Yara Felix Helena Mateo Priya Jonas Leila Viktor Camille Hassan Greta Andrei Mei Oskar
Fatima Simon Elise Diego Hanna Kofi Renata Tobias Agnes Bruno Carla Dmitri Esther Farid Gemma Hugo
Irene Jasper Keiko Leon Mira Nadia Olga Pablo Quentin Rosa Stefan Tessa Umar Vera Wim Ximena Yusuf
Zoe Alma Boris Chloe Duncan Edith Florian Gustav Hilda Ivan Joan Karim Lidia Marcel Noor Otis Petra
Raul Selma Teun Ulla Vikram Wanda
"""
)

CITIES = _words(
    """
London Berlin Paris Madrid Lisbon Vienna Prague Oslo Dublin Rome Milan Zurich Brussels Athens
Hamburg Warsaw Boston Chicago Toronto Seattle Denver Austin Tokyo Seoul Osaka Singapore Sydney
Melbourne Nairobi Lagos Cairo Tunis Istanbul Ankara Delhi Mumbai Lima Bogota Santiago Quito Porto
Seville Valencia Lyon Nantes Ghent Bruges Leiden Bergen Aarhus Malmo Turku Tallinn Riga Vilnius
Krakow Brno Graz Basel Turin Naples Bologna
"""
)

NOUNS = _words(
    """
meeting plan team report order customer price project week call invoice problem idea house contract
car number school list budget office question answer trip date ticket photo garden room flight book
phone account letter doctor friend supplier server deadline test version kitchen hotel package offer
design payment computer train form machine window table door dinner database query backup password
feature release bug sensor dashboard branch review folder manager engineer teacher neighbour
colleague brother sister daughter cousin partner landlord lawyer nurse dentist plumber painter
driver client tenant student guest visitor intern director accountant architect designer developer
analyst editor consultant reporter farmer baker chef apartment building bridge street station
airport platform terminal border village island harbour beach mountain forest river lake valley path
road tunnel square market shop bakery pharmacy clinic hospital library museum theatre cinema stadium
church castle tower factory warehouse garage basement balcony roof wall floor ceiling corridor
elevator staircase fence gate mailbox chair sofa lamp mirror carpet curtain pillow blanket mattress
drawer cupboard wardrobe fridge oven kettle toaster dishwasher freezer heater boiler radiator fan
pump valve pipe filter battery charger cable adapter screen keyboard printer scanner camera
microphone speaker headset laptop tablet router modem antenna switch motor engine bearing spring
screw bolt bracket hammer drill ladder toolbox bucket brush rope hose shovel wheel tyre saddle
helmet pedal chain jacket coat sweater shirt scarf glove boot sandal umbrella backpack suitcase
wallet passport bracelet necklace ring watch perfume soap towel razor comb breakfast lunch supper
sandwich soup salad pancake omelette pizza lasagne curry stew noodle dumpling sausage cheese apple
orange banana lemon cherry peach melon grape onion carrot pepper cabbage pumpkin mushroom bean
lentil almond walnut biscuit cake pudding cookie muffin waffle recipe menu portion bottle glass
plate bowl spoon fork pan lid basket tray birthday wedding funeral anniversary holiday festival
concert exhibition lecture seminar workshop conference interview presentation rehearsal ceremony
reunion picnic barbecue excursion hike marathon tournament league match goal race medal coach
referee trainer gym pool court pitch painting drawing sculpture poem novel essay chapter paragraph
sentence headline magazine newspaper article podcast episode documentary song album melody guitar
piano violin drum trumpet orchestra choir band stage costume script scene actor audience vaccine
allergy fever headache rash bruise fracture injection prescription dose symptom diagnosis
appointment surgeon therapist physio bandage crutch scan insurance mortgage loan deposit refund
discount coupon receipt salary bonus pension tax fee fine subscription membership warranty license
permit visa certificate application signature clause agreement proposal quote tender shipment parcel
courier container pallet crate label barcode inventory catalogue sample prototype batch component
module gadget device product brand logo slogan campaign banner brochure newsletter survey poll
rating complaint request inquiry reminder notification message email attachment spreadsheet document
draft template slide diagram chart graph column row index schema migration cluster replica partition
cache queue worker scheduler pipeline deployment rollback outage incident alert metric log trace
latency timeout retry token session header payload endpoint gateway proxy firewall framework
compiler parser interpreter debugger profiler benchmark function variable parameter constant pointer
buffer thread process signal socket packet protocol format encoder classifier embedding model
dataset gradient vector matrix tensor layer weight experiment theory method formula equation theorem
proof example exercise lesson course curriculum diploma scholarship exam grade assignment classroom
notebook pencil marker whiteboard projector strategy roadmap milestone backlog sprint estimate
priority risk blocker dependency assumption decision objective target forecast margin revenue
expense investor shareholder founder merger acquisition startup venture competitor vendor retailer
distributor wholesaler franchise department committee council ministry embassy jury trial verdict
law regulation policy election vote candidate petition protest strike union treaty storm flood
drought earthquake hurricane blizzard cloud rainbow sunrise sunset season summer winter autumn
weekend morning evening afternoon midnight minute hour month decade century planet comet galaxy
telescope satellite rocket orbit crater volcano glacier desert canyon waterfall meadow orchard
vineyard greenhouse seedling tulip orchid cactus oak birch willow squirrel rabbit hedgehog fox
badger horse donkey goat chicken turkey pigeon sparrow owl heron swan turtle lizard frog spider
beetle butterfly ant bee dolphin whale shark puppy kitten cat dog hamster parrot collar leash kennel
aquarium mistake reason result effect cause detail pattern trend source summary opinion argument
promise secret rumour joke story memory dream habit routine hobby talent skill mood surprise journey
adventure souvenir postcard map compass tent campsite hostel itinerary stopover delay detour
shortcut roundabout crossing pavement pedestrian cyclist tram bus ferry bicycle scooter motorcycle
van truck trailer tractor helicopter yacht canoe puzzle riddle card toy doll balloon kite lantern
candle wreath ribbon envelope stamp calendar diary planner clock alarm timer stopwatch thermometer
barometer scale ruler
"""
)

VERBS = _words(
    """
check move order call discuss need change want ask try start finish book fix review use open close
add clean cook paint repair install test deploy update upgrade replace cancel confirm accept reject
approve sign deliver receive return rent purchase collect prepare organise schedule postpone delay
extend shorten reduce increase double measure count compare estimate calculate record document
describe explain present mention repeat clarify question answer translate correct edit publish print
copy paste upload download export import convert rename archive delete restore recover encrypt
unlock reset restart disable enable configure monitor trace refactor merge revert release benchmark
profile index cache compress validate verify inspect examine audit investigate analyse evaluate
assess rank sort filter search notice discover observe detect track follow visit explore pass cross
enter join attend host invite welcome greet introduce contact message email remind warn notify
inform consult advise support assist encourage thank praise blame criticise doubt trust admire
respect ignore avoid miss remember recall imagine expect predict guess assume consider reconsider
recommend suggest propose demand request require promise offer refuse decline resist protest defend
protect secure insure claim refund charge invoice save waste invest earn owe settle negotiate
bargain design sketch draft outline construct assemble attach connect separate combine mix bake
roast boil taste serve peel slice harvest plant water rake wash polish dust iron fold pack unpack
load unload carry lift push pull park pick select watch film photograph play practise perform
rehearse train coach hire interview promote dismiss appoint supervise manage delegate assign
coordinate launch announce advertise showcase demonstrate adjust align calibrate tune balance
tighten loosen drill hammer weld handle process solve resolve tackle escalate mitigate overlook
underestimate exceed learn study revise memorise lecture enjoy love like hate dislike tolerate
appreciate celebrate simplify automate optimise restructure standardise customise integrate migrate
replicate synchronise throttle allocate reserve borrow
"""
)

ADJECTIVES = _words(
    """
new old small good late early next last big whole main final open free full long short cheap
expensive quick slow simple easy hard strange nice local weekly monthly annual daily red blue green
white black grey yellow wooden plastic digital manual automatic electric broken empty heavy light
bright dark quiet loud warm cold dry wet fresh frozen clean dirty sharp smooth rough soft thin thick
narrow wide tall low deep shallow round flat straight curved modern ancient recent current previous
former future temporary permanent original spare extra additional missing incomplete partial
complete correct incorrect accurate vague precise clear confusing obvious hidden secret public
private personal official internal external regional national foreign domestic rural urban northern
southern eastern western central remote nearby distant important urgent critical minor major serious
severe mild harmless dangerous risky safe secure stable unstable reliable fragile robust flexible
rigid portable compact bulky lightweight comfortable awkward elegant ugly beautiful plain colourful
pale shiny dull tidy messy friendly polite rude patient generous stubborn careful careless honest
clever curious nervous calm tired hungry thirsty sleepy busy bored excited proud jealous grateful
disappointed surprised confident worried relieved anxious cheerful gloomy delicious bitter sour
sweet salty spicy bland crispy creamy vegan organic seasonal homemade medical legal financial
technical scientific historical political musical artistic athletic academic professional commercial
industrial agricultural environmental nuclear solar statistical numerical random sequential parallel
concurrent asynchronous distributed redundant obsolete experimental optional mandatory identical
similar different unusual typical common rare unique popular famous unknown mysterious familiar
profitable affordable overpriced discounted refundable taxable overdue prepaid outstanding pregnant
allergic chronic acute infected injured swollen healthy dizzy wireless rechargeable waterproof
handmade refurbished secondhand defective
"""
)

ADVERBS = _words(
    """
really finally already almost quickly slowly together again carefully usually probably suddenly
recently quietly badly properly mostly partly directly separately manually automatically politely
happily sadly regularly rarely eventually temporarily accidentally deliberately thoroughly roughly
secretly publicly remotely efficiently reluctantly
"""
)
DETERMINERS = _words("the the the the the my our your his her their")

# A slot is {letter}: o determiner, P person, S person with surname, X invented proper noun,
# x invented common noun, C city, n noun, N nouns, v verb, d verb in the past, g gerund,
# j adjective, a adverb, M amount, K count, D date, W weekday, T time of day, I identifier.
OPENERS = (
    "", "", "", "", "", "", "", "",
    "I think ", "So ", "By the way, ", "OK, ", "Well, ", "Also, ", "Just so you know, ",
    "As far as I know, ", "Honestly, ", "On {W} ", "Since {W} ", "After {o} {n}, ", "To be fair, ",
    "Good news: ", "Before I forget, ", "According to {P}, ", "No, ", "Yes, ", "In {C}, ",
    "{P} says ", "For {o} {n}: ", "About {o} {j} {n}: ", "At {T} ", "Between us, ", "Actually, ",
    "At {X} ", "Remember that ", "My {n} says ", "Last time ", "Without {o} {n}, ",
    "Update on {X}: ",
)  # fmt: skip
CORES = (
    "I {d} {o} {j} {n} with {P}",
    "{P} {d} {o} {n} and {d} {o} {N}",
    "we should {v} {o} {n} before {W}",
    "the {x} from {X} is {a} {j}",
    "the {j} {n} will be {j} on {D}",
    "{S} wants to {v} our {n} in {C}",
    "I am still {g} {o} {N} for {o} {n}",
    "they {d} {K} {N} and one {j} {n}",
    "my {n} {a} {d} {o} {x}",
    "the {n} costs {M} euros without {o} {n}",
    "we paid {M} for {o} {j} {x} from {X}",
    "{P} and I {d} {o} {n} in {C}",
    "I can't {v} {o} {x} without this {j} {n}",
    "the {n} number is {I} and {o} {n} is {j}",
    "there is another {j} {n} behind {o} {x} of {X}",
    "{X} {d} our {n} and {o} {x} again",
    "the {N} are {j}, but {o} {n} is {j}",
    "could you {v} {o} {n} for {P} and {S}",
    "I would rather {v} {o} {N} than {v} {o} {n}",
    "{P} asked whether we {d} {o} {n}",
    "nobody {d} {o} {n} after {o} {j} {x}",
    "our {n} has {K} {N} and one {j} {n}",
    "the {n} is on {D} at {T}",
    "you told me that {P} {d} {o} {n}",
    "it was {j} of {S} to {v} {o} {n}",
    "the {n} broke while {P} was {g} {o} {x}",
    "we moved {o} {n} from {W} to {D}",
    "I need {o} {n}, {o} {j} {n} and {K} {N}",
    "{S} is our {j} {n} at {X}",
    "the {j} {n} has nothing to do with {I}",
    "please {v} {I} and {v} {o} {n} of {X}",
    "{P} never liked {g} {N} in {X}",
    "the {x} in {o} {n} must be {d} {a}",
    "everyone {d} {o} {n}, even {S}",
    "I have been {g} {o} {j} {n} since {D}",
    "the {n} of {o} {x} is {j} and {j}",
    "we agreed to {v} {X} and drop {o} {n}",
    "the {x} takes {K} minutes by {n}",
    "they want {K} {N} by {D}",
    "{P} met {S} at {o} {n} in {C}",
)
TAILS = (
    "", "", "", "", "", "", "", "", "",
    " because {o} {n} was {j}", " and then {P} {d} {o} {n}", " until {D}", " at {T}",
    " for {M} euros", ", which was {a} {j}", " with {o} {j} {n}", ", but {P} {d} it",
    " in {C}", " next to {o} {x}", " so that we can {v} {o} {n}", " instead of {g} {o} {N}",
    " before {o} {n} in {X}", " like {P} did with {o} {n}", ", if {o} {n} is {j}",
    " as {X} does", " together with {P}", " and {o} {x} too", " in front of {o} {N}",
    ", not {o} {j} one", " after {g} {o} {n}", " on {W}", ", see {I}", " during {o} {n}",
    " for {o} {n} of {P}", " without telling {P}",
)  # fmt: skip
ENDS = (". ", ". ", ". ", ". ", ". ", "! ", "… ")
