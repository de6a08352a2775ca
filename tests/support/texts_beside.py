"""Pairs of texts by language: such that say something else, and such that say the same."""

from __future__ import annotations

_DIFFERENT = """
# English: order and roles
Mara lent Otis 20 pounds. | Otis lent Mara 20 pounds.
Iris is Noel's mother. | Noel is Iris's mother.
Kim beat Lou at chess. | Lou beat Kim at chess.
The parcel goes from Bremen to Turin. | The parcel goes from Turin to Bremen.
Rosa is taller than Piet. | Piet is taller than Rosa.
Dana reports to Emil. | Emil reports to Dana.
Lift A is older than lift B. | Lift B is older than lift A.
Milk goes in before tea. | Tea goes in before milk.
Team Red won against team Blue. | Team Blue won against team Red.
Swap port 80 for port 81. | Swap port 81 for port 80.
In Oslo Mara met Otis from Bergen. | In Bergen Mara met Otis from Oslo.
The cat chased the dog. | The dog chased the cat.
Only Mara eats fish on Fridays. | Mara eats fish only on Fridays.
On Mondays only Mara works. | Mara works on Mondays only.
Mara told Otis that Kim is ill. | Kim told Otis that Mara is ill.
Copy a.txt to b.txt. | Copy b.txt to a.txt.
# English: negation, opposites, degree
Mara eats pork. | Mara does not eat pork.
Mara eats pork. | Mara doesn't eat pork.
Mara eats pork. | Mara rarely eats pork.
Mara eats pork. | Mara no longer eats pork.
The alarm is armed. | The alarm is unarmed.
The valve is open. | The valve is closed.
Entry is legal. | Entry is illegal.
Mara agrees. | Mara disagrees.
Lock the door at night. | Unlock the door at night.
Mara has few friends. | Mara has a few friends.
Mara has little time. | Mara has a little time.
It is too cold. | It is cold.
The tank is almost full. | The tank is full.
Mara was born in Rome. | Mara was borne in Rome.
All tests pass. | Some tests pass.
All tests pass. | Not all tests pass.
Mara can drive. | Mara can't drive.
Mara might move to Graz. | Mara will move to Graz.
Mara must pay. | Mara may pay.
Turn left at the church. | Turn right at the church.
The lamp is on. | The lamp is off.
Walk up the hill. | Walk down the hill.
Eat before noon. | Eat after noon.
The key is in the drawer. | The key is on the drawer.
The key is under the mat. | The key is over the mat.
Tea with sugar. | Tea without sugar.
Mara lives in Graz. | Mara lived in Graz.
Mara is here. | Was Mara here?
Mara likes tea. | Does Mara like tea?
Mara likes tea. | Mara likes tea?
She is ill. | He is ill.
I owe you ten euros. | You owe me ten euros.
My cat is ill. | Your cat is ill.
Mara paints. | Mara's sister paints.
Mara has a cat. | Mara has cats.
Mara has a dog and a cat. | Mara has a dog or a cat.
The office is closed. | The office is closed on Mondays.
Mara lives in Graz. | Mara wants to live in Graz.
Mara lives in Graz. | Otis says Mara lives in Graz.
Mara lives in Graz. | If she finds work, Mara lives in Graz.
Mara flew to Rome. | Mara flew from Rome.
Mara bought the flat. | Mara sold the flat.
Mara is in the first team. | Mara is in the second team.
Let's eat, Mara. | Let's eat Mara.
No, children may enter. | No children may enter.
Well, water is cold. | Well water is cold.
Inside, doors are open. | Inside doors are open.
Yes, no. | No, yes.
The cook said the guest is late. | The cook, said the guest, is late.
Turn left, left, right. | Turn left, right.
Mara teaches (not studies) law. | Mara teaches not studies law.
# English: case that tells something
We fly to the US. | We fly to us.
Mara likes Turkey. | Mara likes turkey.
He is Polish. | He is polish.
The WHO called. | The who called.
Meet me in March, said Mara. | Meet me in march, said Mara.
Mara takes Vitamin A. | Mara takes Vitamin.
Mara works at Apple. | Mara works at apple.
# Figures, signs, units
The balance is -75 euros. | The balance is 75 euros.
The balance is (75) euros. | The balance is 75 euros.
The balance is −75 euros. | The balance is 75 euros.
Offset +3. | Offset -3.
Offset ±3. | Offset 3.
Wait < 30 s. | Wait > 30 s.
Wait <= 30 s. | Wait < 30 s.
Wait ≤ 30 s. | Wait ≥ 30 s.
x = 4 | x ≠ 4
x = 4 | x == 4
x := 4 | x = 4
a ∧ b | a ∨ b
a ⊂ b | a ⊃ b
p → q | p ← q
A + B | A × B
5! | 5
2^8 | 2^9
10⁴ | 104
x² | x2
H₂O is ready. | H2O is ready.
½ litre of milk. | ¼ litre of milk.
√2 | 2
The film costs 3.50. | The film costs 35.0.
The film costs 3.50. | The film costs 350.
The film costs $5. | The film costs €5.
The film costs 5. | The film costs £5.
The dose is 5 mg. | The dose is 5 g.
The dose is 5 mg. | The dose is 5 Mg.
The load is 7 mW. | The load is 7 MW.
The load is 7 MPa. | The load is 7 mPa.
The disk has 5 Gb. | The disk has 5 GB.
It is 20 °C. | It is 20 °F.
The angle is 30°. | The angle is 30.
The table is 6' long. | The table is 6" long.
Tax is 7 %. | Tax is 7 ‰.
Tax is 7%. | Tax is 7.
Grade: B+ | Grade: B-
Grade: B | Grade: B+
Rated A. | Rated B.
Blood group 0+. | Blood group 0-.
Room 3-5. | Room 35.
Rooms 1, 5 | Rooms 1 5
The score was 2:1. | The score was 1:2.
The train is at 6:40. | The train is at 6.40.
It starts at 5 am. | It starts at 5 pm.
It starts at 5:30. | It starts at 17:30.
Born 3.4.1990. | Born 4.3.1990.
Chapter IV | Chapter VI
Gate 11 | Gate 111
The pin is 0417. | The pin is 417.
# Code, names of things
The branch is fix-1. | The branch is fix_1.
The key is kB7xQ. | The key is Kb7Xq.
The key is kB7xQ. | The key is KB7XQ.
Call run() first. | Call run(1) first.
Set DEBUG=1. | Set debug=1.
tar -x | tar -X
grep -v | grep -V
rm -r build | rm -rf build
pip install --user | pip install --no-user
The file is a.txt. | The file is a.txt.bak.
Open ./run | Open ../run
Open C:\\a | Open C:\\b
git push | git push -f
The path is /etc/ | The path is /etc
Use v2.1.0. | Use v2.1.0-rc1.
Use C. | Use C++.
Use C. | Use C#.
Use F#. | Use F.
if a && b | if a || b
if (!a) | if (a)
a[0] | a[1]
[x] water plants | [ ] water plants
@kim owns it. | #kim owns it.
Mail a.b@example.com | Mail ab@example.com
Mail a+b@example.com | Mail a-b@example.com
See https://example.com/a?x=1 | See https://example.com/a?x=2
sha 9f3a | sha 9f3b
user_id | userid
café | cafe
résumé | resume
# Emoji
Mara likes 🍇. | Mara likes 🍋.
Mara 👍 | Mara 👎
Mara 👍🏻 | Mara 👍🏿
Status: 🟢 | Status: 🔴
🇦🇹 won. | 🇦🇺 won.
👩‍⚕️ called. | 👨‍⚕️ called.
Great :) | Great :(
Mara ♀ | Mara ♂
♠ | ♣
# German
Mara isst Fisch. | Mara isst keinen Fisch.
Mara isst Fisch. | Mara isst nicht Fisch.
Der Hund beißt den Mann. | Den Hund beißt der Mann.
Mara mag sie. | Mara mag Sie.
Der Leiter ist neu. | Die Leiter ist neu.
Es war schon spät. | Es war schön spät.
Otto schuldet Ilse 40 Euro. | Ilse schuldet Otto 40 Euro.
Mara kommt mit Zucker. | Mara kommt ohne Zucker.
Ich fahre hin. | Ich fahre her.
Alle kommen. | Fast alle kommen.
# French
Mara aime le thé. | Mara n'aime pas le thé.
Mara aime le thé. | Mara n'aime plus le thé.
Luc doit 40 euros à Zoé. | Zoé doit 40 euros à Luc.
Il est là. | Il est la.
Où est Luc ? | Ou est Luc ?
Le poisson est cuit. | Le poison est cuit.
Avec sel. | Sans sel.
# Spanish
Mara come carne. | Mara no come carne.
Mara come carne. | Mara ya no come carne.
Tengo un año. | Tengo un ano.
El papá llegó. | El papa llegó.
Si, viene. | Sí, viene.
Luis le debe 40 a Sara. | Sara le debe 40 a Luis.
Con azúcar. | Sin azúcar.
# Portuguese
Mara gosta de café. | Mara não gosta de café.
Mara gosta de café. | Mara nunca gosta de café.
O avô chegou. | A avó chegou.
Rui deve 40 a Inês. | Inês deve 40 a Rui.
Moro em Braga. | Morei em Braga.
# Italian
Mara beve vino. | Mara non beve vino.
Mara beve vino. | Mara non beve più vino.
Piero ama Lia. | Lia ama Piero.
È qui. | E qui.
# Dutch
Mara eet vlees. | Mara eet geen vlees.
Mara komt wel. | Mara komt niet.
Jan helpt Els. | Els helpt Jan.
# Swedish, Danish, Norwegian, Finnish
Mara äter kött. | Mara äter inte kött.
Mara spiser fisk. | Mara spiser ikke fisk.
Vi møtes før lunsj. | Vi møtes etter lunsj.
Mara syö lihaa. | Mara ei syö lihaa.
Hän on täällä. | Hän on taalla.
# Polish, Czech, Hungarian, Romanian
Mara je mięso. | Mara nie je mięsa.
Robię łaskę. | Robię laskę.
Mara jí maso. | Mara nejí maso.
Mara eszik húst. | Mara nem eszik húst.
Öt kor van. | Őt kor van.
Mara mănâncă carne. | Mara nu mănâncă carne.
# Turkish
Mara et yiyor. | Mara et yemiyor.
Ali Ayşe'yi sevdi. | Ayşe Ali'yi sevdi.
Kar yağdı. | Kâr yağdı.
# Greek
Η Μάρα τρώει κρέας. | Η Μάρα δεν τρώει κρέας.
Η Μάρα πίνει τσάι; | Η Μάρα πίνει τσάι.
# Russian, Ukrainian
Мара пьёт чай. | Мара не пьёт чай.
Ждать, нельзя идти. | Ждать нельзя, идти.
Мара больше не пьёт чай. | Мара пьёт чай.
Иван любит Марию. | Мария любит Ивана.
Все пришли. | Всё пришли.
Мара живёт в Туле. | Мара жила в Туле.
С сахаром. | Без сахара.
Мара їсть м'ясо. | Мара не їсть м'ясо.
Мий рукав. | Мій рукав.
# Arabic, Persian, Urdu
مارا تشرب القهوة. | مارا لا تشرب القهوة.
دَرَس عمر. | دُرِس عمر.
علي أكبر من سامي. | سامي أكبر من علي.
مارا چای می‌خورد. | مارا چای نمی‌خورد.
وہ چائے پیتی ہے۔ | وہ چائے نہیں پیتی ہے۔
الغرفة ٣ | الغرفة ٤
# Hebrew
מרה שותה קפה. | מרה לא שותה קפה.
דן אוהב את רות. | רות אוהבת את דן.
שׂר בא. | שׁר בא.
# Hindi, Bengali, Tamil
मारा चाय पीती है। | मारा चाय नहीं पीती है।
राम ने श्याम को देखा। | श्याम ने राम को देखा।
कमल | कमाल
মারা চা খায়। | মারা চা খায় না।
மாரா தேநீர் குடிப்பாள். | மாரா தேநீர் குடிக்கமாட்டாள்.
# Chinese, Japanese, Korean
她吃肉。 | 她不吃肉。
她去过北京。 | 她没去过北京。
王五欠李四钱。 | 李四欠王五钱。
会议在上午。 | 会议在下午。
他买了房子。 | 他卖了房子。
肉を食べます。 | 肉を食べません。
田中が鈴木を呼んだ。 | 鈴木が田中を呼んだ。
会議は三時です。 | 会議は四時です。
びょういん | びよういん
마라는 고기를 먹는다. | 마라는 고기를 안 먹는다.
마라가 지수를 도왔다. | 지수가 마라를 도왔다.
회의는 두 시다. | 회의는 세 시다.
# Vietnamese, Thai, Indonesian, Swahili
Mara ăn thịt. | Mara không ăn thịt.
Mua dừa. | Mua dưa.
Con ma | Con má
มาราดื่มชา | มาราไม่ดื่มชา
ไกล | ใกล้
Mara makan daging. | Mara tidak makan daging.
Mara bukan guru. | Mara guru.
Mara anakula nyama. | Mara hali nyama.
"""
_SAME = """
# Punctuation, blanks, invisible characters, Unicode
Mara plays the harp. | Mara plays the harp
Mara plays the harp. | Mara plays the harp!
Mara plays the harp. |   Mara  plays   the harp .
Mara plays the harp! | Mara plays the harp!!
Mara said "maybe". | Mara said “maybe”.
Mara's harp is new. | Mara’s harp is new.
Mara, Otis and Kim sing. | Mara, Otis, and Kim sing.
Today, Mara sings. | Today Mara sings.
Mara was here... | Mara was here…
Mara was here... | Mara was here.
The café is closed. | The cafe\u0301 is closed.
The full-width ＡＢＣ is here. | The full-width ABC is here.
Mara\u00a0sings well. | Mara sings well.
Mara sings\u200b well. | Mara sings well.
Wait 5 – 10 days. | Wait 5 - 10 days.
Offset −3. | Offset -3.
- water the plants | Water the plants.
x=4 | x = 4
if a<b | if a < b
I ❤️ tea. | I ❤ tea.
Really?! | Really?
Yes, yes. | Yes.
Okay. Okay. | Okay.
Wow!!! | Wow.
# Case
mara plays the harp | Mara plays the harp.
MARA PLAYS THE HARP. | Mara plays the harp.
where does mara live? | Where does Mara live?
i live in graz and work in linz | I live in Graz and work in Linz.
The harp is old. | the harp is old.
MARA LIVES IN THE USA. | Mara lives in the USA.
# English
Mara plays harp. | Mara plays the harp.
The rent is due in the autumn. | Rent is due in the autumn.
Mara isn't at home. | Mara is not at home.
Mara can't swim. | Mara cannot swim.
I'm allergic to wasps. | I am allergic to wasps.
We've moved to Graz. | We have moved to Graz.
They won't come. | They will not come.
It's the blue one. | It is the blue one.
Mara plays the harp, too. | Mara plays the harp.
Mara also plays the harp. | Mara plays the harp.
Please water the plants. | Water the plants.
Water the plants, please. | Please water the plants.
Under the oak Mara buried the box. | Mara buried the box under the oak.
In the evening Mara drinks cocoa. | Mara drinks cocoa in the evening.
In the evening, Mara drinks cocoa. | Mara drinks cocoa in the evening.
Every Sunday Mara calls Otis. | Mara calls Otis every Sunday.
Yesterday Mara met Otis. | Mara met Otis yesterday.
Last week Mara fixed the roof. | Mara fixed the roof last week.
For breakfast Otis eats porridge. | Otis eats porridge for breakfast.
With a spoon Mara opened the tin. | Mara opened the tin with a spoon.
Since May Otis works from home. | Otis works from home since May.
Between the shelves Mara found a ring. | Mara found a ring between the shelves.
# Other languages
Mara spielt Harfe. | mara spielt harfe
Mara spielt „Harfe“. | Mara spielt "Harfe".
Mara aime le thé ! | Mara aime le thé!
¡Mara canta! | Mara canta.
¿Dónde vive Mara? | Dónde vive Mara?
Mara canta bem. | mara canta bem
Мара пьёт чай. | мара пьёт чай
МАРА ПЬЁТ ЧАЙ | Мара пьёт чай.
Η Μάρα τρώει. | η μάρα τρώει
مارا تشرب القهوة. | مارا تشرب القهوة
मारा चाय पीती है। | मारा चाय पीती है
她吃肉。 | 她吃肉
她用 Python 写。 | 她用Python写。
会议在上午，她来。 | 会议在上午,她来。
肉を食べます。 | 肉を食べます
ﾃﾚﾋﾞを見ます。 | テレビを見ます。
마라는 고기를 먹는다. | 마라는 고기를 먹는다
한국 | \u1112\u1161\u11ab\u1100\u116e\u11a8
Mara ăn thịt. | Mara a\u0306n thi\u0323t.
"""


def _pairs(table: str) -> dict[str, list[tuple[str, str]]]:
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for line in filter(None, table.split("\n")):
        if line.startswith("# "):
            kind = line.removeprefix("# ")
            continue
        one, _, other = line.partition(" | ")
        by_kind.setdefault(kind, []).append((one, other))
    return by_kind


DIFFERENT = _pairs(_DIFFERENT)
SAME = _pairs(_SAME)
